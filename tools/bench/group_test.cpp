// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/group.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace unisono::tools {
namespace {

Launch nothing_to_start(Label label = {"gloo", "default", "tcp"}) { return {std::move(label), {}}; }

// A group without processes: this test answers for the workers, before they are asked.
struct AnsweredGroup {
  Group group;
  std::vector<LineChannel> workers;

  explicit AnsweredGroup(int ranks, Label label = {"gloo", "default", "tcp"})
      : group(nothing_to_start(std::move(label)), 0, ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      int ends[2] = {-1, -1};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      group.attach(rank, LineChannel(Fd(ends[0])), "torch 2.1");
      workers.emplace_back(Fd(ends[1]));
    }
  }
  void answer(std::size_t rank, const char* text) {
    EXPECT_TRUE(workers[rank].send(nlohmann::json::parse(text)).ok());
  }
  nlohmann::json asked(std::size_t rank) {
    auto message = workers[rank].receive(0);
    EXPECT_TRUE(message.ok()) << message.status().message();
    return message.ok() ? *message : nlohmann::json::object();
  }
};

TEST(BenchGroup, IsCompleteOnceEachOfItsRanksHasSaidHello) {
  Group group(nothing_to_start(), 0, 2);
  group.attach(0, LineChannel(), "torch 2.1");
  group.attach(2, LineChannel(), "another");
  group.attach(-1, LineChannel(), "another");
  EXPECT_FALSE(group.complete()) << "a rank that does not exist does not count";
  group.attach(1, LineChannel(), "torch 2.1");
  EXPECT_TRUE(group.complete());
  EXPECT_EQ(group.version(), "torch 2.1");
}

TEST(BenchGroup, EveryRankIsToldTheWork) {
  AnsweredGroup it(2);
  it.answer(0, R"({"ok": true})");
  it.answer(1, R"({"ok": true})");
  ASSERT_TRUE(it.group.set_up(work_for(Collective::alltoall, DType::bf16, 16, 2)).ok());
  for (const std::size_t rank : {0, 1}) {
    const nlohmann::json work = it.asked(rank);
    EXPECT_EQ(work.at("op"), "setup");
    EXPECT_EQ(work.at("collective_name"), "alltoall");
    EXPECT_EQ(work.at("dtype_name"), "bfloat16");
    EXPECT_EQ(work.at("elements").get<int>(), 8);
    EXPECT_EQ(work.at("dtype").get<int>(), static_cast<int>(DType::bf16));
  }
}

TEST(BenchGroup, ABlockHasTheTimesOfRankZeroAndTheChecksOfAll) {
  for (const bool right : {true, false}) {
    AnsweredGroup it(2);
    it.answer(0, R"({"checked": true, "times_us": [1.5, 2], "wall_us": 4})");
    it.answer(1, right ? R"({"checked": true})" : R"({"checked": false})");
    const auto block = it.group.run_block(2, 7);
    ASSERT_TRUE(block.ok()) << block.status().message();
    EXPECT_EQ(block.value().times_us, (std::vector<double>{1.5, 2}));
    EXPECT_EQ(block.value().wall_us, 4);
    EXPECT_EQ(block.value().checked, right);
    const nlohmann::json asked = it.asked(1);
    EXPECT_EQ(asked.at("op"), "block");
    EXPECT_EQ(asked.at("iterations").get<int>(), 2);
    EXPECT_EQ(asked.at("seed").get<int>(), 7);
  }
}

TEST(BenchGroup, WhatAPeerCannotDoIsToldFromWhatBreaksIt) {
  AnsweredGroup it(2);
  const Work work = work_for(Collective::allreduce, DType::f32, 8, 2);
  it.answer(0, R"({"unsupported": "no such type"})");
  it.answer(1, R"({"unsupported": "no such type"})");
  const Status unsupported = it.group.set_up(work);
  EXPECT_EQ(unsupported.code(), Code::unavailable);
  EXPECT_EQ(unsupported.message(), "no such type");
  it.answer(0, R"({"ok": true})");
  it.answer(1, R"({"error": "it broke"})");
  const Status broken = it.group.set_up(work);
  EXPECT_EQ(broken.code(), Code::internal);
  EXPECT_EQ(broken.message(), "it broke");
}

TEST(BenchGroup, TheFirstErrorIsTheReason) {
  AnsweredGroup it(2);
  it.answer(0, R"({"error": "the first"})");
  it.answer(1, R"({"error": "the second"})");
  EXPECT_EQ(it.group.run_block(1, 1).status().message(), "the first");
}

TEST(BenchGroup, AWorkerThatEndsInsteadOfAnsweringIsNamedSo) {
  AnsweredGroup it(2);
  it.answer(0, R"({"checked": true, "times_us": [1], "wall_us": 1})");
  ASSERT_EQ(::shutdown(it.workers[1].fd(), SHUT_WR), 0);
  EXPECT_EQ(it.group.run_block(1, 1).status().code(), Code::peer_left);
}

TEST(BenchGroup, RanksThatExplainThemselvesAlikeSpeakAsOne) {
  AnsweredGroup ours(2, {"unisono", "auto", "tcp"});
  for (const std::size_t rank : {0, 1}) ours.answer(rank, R"({"ok": true, "text": "ring"})");
  EXPECT_EQ(ours.group.explain().value(), "ring");
  EXPECT_EQ(ours.asked(1).at("op"), "explain");
  ours.answer(0, R"({"ok": true, "text": "ring"})");
  ours.answer(1, R"({"ok": true, "text": "tree"})");
  EXPECT_EQ(ours.group.explain().status().code(), Code::mismatch);
  AnsweredGroup peer(1);
  EXPECT_EQ(peer.group.explain().value(), "") << "nobody is asked";
}

TEST(BenchGroup, WorkersAreToldToQuit) {
  std::vector<LineChannel> workers;
  {
    AnsweredGroup it(1);
    workers = std::move(it.workers);
  }
  auto message = workers.at(0).receive(0);
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->at("op"), "quit");
}

}  // namespace
}  // namespace unisono::tools
