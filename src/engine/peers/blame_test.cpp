// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/peers/blame.hpp"

#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "engine/peers/own_leave.hpp"

namespace unisono::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Blame four_ranks() {
  static const std::vector<PeerInfo> kPeers = {
      {0, "host0", 100}, {1, "host1", 101}, {2, "host2", 102}, {3, "host3", 103}};
  return Blame(kPeers);
}

Status lost(Rank rank, std::string tensor = {}) {
  return Status(Code::peer_lost, cat("rank ", rank, " was lost"),
                Culprit{rank, cat("host", rank), 100 + rank, std::move(tensor)});
}

const Members kAll = Members::of({0, 1, 2, 3}, 2);

TEST(Blame, ASuspectIsDueAfterTheGraceOfTheFirst) {
  Blame blame = four_ranks();
  EXPECT_EQ(blame.due(), kNever);
  const Time start = Time{} + seconds(1000);
  blame.suspect(3, lost(3), start);
  const Time due = blame.due();
  EXPECT_GT(due, start);
  blame.suspect(1, lost(1), start + milliseconds(5));
  EXPECT_EQ(blame.due(), due) << "a second loss does not put off the first";
  EXPECT_EQ(blame.take_suspect().culprit().rank, 1) << "all survivors choose the lowest";
  EXPECT_EQ(blame.due(), kNever);
  blame.suspect(0, lost(0), start);
  blame.acquit();
  EXPECT_EQ(blame.due(), kNever);
}

TEST(Blame, ALossIsTheLeaversDoingWhereOneOfTheMembersLeftBefore) {
  Blame blame = four_ranks();
  EXPECT_EQ(blame.first_cause(kAll, lost(0)).culprit().rank, 0) << "nobody has left";
  blame.leavers.note(3);
  const Status with_name = blame.first_cause(kAll, lost(0, "grad"));
  EXPECT_EQ(with_name.code(), Code::peer_left);
  EXPECT_EQ(with_name.culprit().rank, 3);
  EXPECT_EQ(with_name.culprit().host, "host3");
  EXPECT_EQ(with_name.culprit().tensor, "grad");
  EXPECT_NE(with_name.message().find("grad"), std::string::npos);
  const Status without = blame.first_cause(kAll, lost(0));
  EXPECT_EQ(without.culprit().rank, 3);
  EXPECT_NE(without.message().find("host3"), std::string::npos);
  EXPECT_EQ(blame.first_cause(Members::of({0, 2}, 2), lost(0)).code(), Code::peer_lost)
      << "rank 3 was never in that set";
  const Status other(Code::mismatch, "shapes differ");
  EXPECT_EQ(blame.first_cause(kAll, other).code(), Code::mismatch);
}

TEST(Blame, AnOrdersErrorGetsHostAndProcessAndTheFirstLeaver) {
  Blame blame = four_ranks();
  blame.leavers.note(1);
  blame.leavers.note(0);
  const Status raw(Code::peer_left, "rank 0 has left", Culprit{0, {}, 0, "grad"});
  const Status named = blame.named(raw, kAll);
  EXPECT_EQ(named.culprit().rank, 1);
  EXPECT_EQ(named.culprit().host, "host1");
  EXPECT_EQ(named.culprit().pid, 101);
  const Status foreign(Code::peer_left, "rank 9 has left", Culprit{9, {}, 0, "grad"});
  EXPECT_EQ(blame.named(foreign, kAll).culprit().rank, 9) << "no such rank: left as it is";
  const Status complete = lost(0);
  EXPECT_EQ(blame.named(complete, kAll).message(), complete.message());
}

TEST(OwnLeave, EverySetThatWasAskedMustGrantAndBeNegotiatedToThere) {
  OwnLeave leave;
  EXPECT_FALSE(leave.begun());
  leave.begin(Time{} + seconds(5), {3, 1});
  EXPECT_TRUE(leave.begun());
  EXPECT_EQ(leave.limit(), Time{} + seconds(5) + OwnLeave::kLimit);
  EXPECT_EQ(leave.before(), (std::vector<Rank>{3, 1}));
  leave.ask(7);
  EXPECT_TRUE(leave.granted(0, 0)) << "nobody had to be asked";
  EXPECT_FALSE(leave.granted(7, 100)) << "no answer yet";
  leave.grant(7, 4);
  EXPECT_FALSE(leave.granted(7, 3));
  EXPECT_TRUE(leave.granted(7, 4));
}

}  // namespace
}  // namespace unisono::engine
