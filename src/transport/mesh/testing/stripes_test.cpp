// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Data over several connections, driven here or by threads: nothing is lost, doubled or reordered
// when any of them breaks, and what ends leaves no thread at work.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <thread>

#include "base/data/rng.hpp"
#include "base/testing/effort.hpp"
#include "transport/mesh/testing/healing_world.hpp"

namespace unisono::transport {
namespace {

struct Layout {
  std::size_t stripes, io_threads;
};
constexpr Layout kLayouts[] = {{2, 0}, {8, 0}, {1, 1}, {2, 1}, {4, 2}};

// Every other tag hurries, whatever is sent under it.
Label label_of(Tag tag, std::uint64_t identity = 0) { return {tag, identity, tag % 2 == 1}; }

// Steps until it is done; a transfer that never ends fails the test.
template <typename Done>
[[nodiscard]] bool step_until(HealingWorld& job, Done done) {
  for (int step = 0; step < 3'000'000; ++step) {
    if (done()) return true;
    if (!job.step()) std::this_thread::yield();
  }
  return false;
}

// Resets one of the last connections of a rank; returns false when it has been closed already.
bool reset_one(HealingWorld& job, std::size_t last, Rng& rng) {
  auto& sockets = job.connectors[rng.below(2)]->sockets;
  if (sockets.empty()) return false;
  const int socket =
      sockets[sockets.size() - 1 - rng.below(std::min<std::size_t>(last, sockets.size()))];
  if (::fcntl(socket, F_GETFD) < 0) return false;
  reset(socket);
  return true;
}

class StripedMesh : public testing::TestWithParam<Layout> {};

// Some payloads are larger than what a lane copies, and sent again from the caller's memory, which
// the caller writes to as soon as its transfer is done.
TEST_P(StripedMesh, ResetsOfAnyStripeLoseNothing) {
  HealingWorld job(2, GetParam().stripes, GetParam().io_threads);
  Rng rng(7);
  const int wanted = short_of_time() ? 20 : GetParam().io_threads > 0 ? 300 : 100;
  constexpr std::size_t kAtOnce = 6;
  int resets = 0;
  // A connection that is reset again before it has come back comes back once for both.
  const auto too_few = [&] { return job.at(0).stats().reconnections <= 10; };
  for (unsigned round = 0; resets < wanted || (too_few() && round < 1000); ++round) {
    std::vector<std::vector<std::byte>> out(2 * kAtOnce), in(2 * kAtOnce), copies;
    std::vector<Transfer> sends(out.size()), receives(out.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int from = i < kAtOnce ? 0 : 1;
      const std::size_t size = 1 + rng.below(i % 3 == 0 ? 1'500'000 : i % 3 == 1 ? 300'000 : 2000);
      out[i] = pattern(size, round * 31 + static_cast<unsigned>(i));
      copies.push_back(out[i]);
      in[i].resize(size);
      const Label label = label_of(i % kAtOnce, round);
      if (rng.below(2) == 0) job.at(1 - from).receive(from, label, in[i], receives[i]);
      job.at(from).send(1 - from, label, out[i], sends[i]);
      if (receives[i].state == Transfer::State::idle) {
        job.at(1 - from).receive(from, label, in[i], receives[i]);
      }
    }
    std::vector<bool> reused(out.size());
    ASSERT_TRUE(step_until(job, [&] {
      // A step of this thread moves more than one beside threads that move the data.
      if ((resets < wanted || too_few()) && rng.below(GetParam().io_threads > 0 ? 8 : 2) == 0) {
        resets += reset_one(job, 2 * (GetParam().stripes + 1), rng) ? 1 : 0;
      }
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (!sends[i].done() || reused[i]) continue;
        reused[i] = true;
        std::ranges::fill(out[i], std::byte{0});
      }
      return std::ranges::all_of(sends, &Transfer::done) &&
             std::ranges::all_of(receives, &Transfer::done);
    })) << "round " << round;
    ASSERT_EQ(in, copies) << "round " << round;
  }
  for (const auto& rank : job.world) EXPECT_TRUE(rank->told.lost.empty());
  EXPECT_GT(job.at(0).stats().reconnections, 10u);
}

// Data of one tag may find its stripe crowded and another one free.
TEST_P(StripedMesh, EqualTagsKeepTheirOrderWhateverElseIsOnItsWay) {
  HealingWorld job(2, GetParam().stripes, GetParam().io_threads);
  Rng rng(3);
  constexpr Tag kTags = 5;
  std::map<Tag, std::vector<std::vector<std::byte>>> sent;
  std::map<Tag, Transfer*> last;
  std::deque<Transfer> transfers;
  std::deque<std::vector<std::byte>> held;
  for (int i = 0; i < (short_of_time() ? 60 : 200); ++i) {
    const Tag tag = rng.below(kTags);
    if (last[tag] != nullptr) {
      ASSERT_TRUE(step_until(job, [&] { return last[tag]->done(); }));
    }
    const auto& bytes = held.emplace_back(
        pattern(1 + rng.below(i % 4 == 0 ? 900'000 : 500), static_cast<unsigned>(i)));
    sent[tag].push_back(bytes);
    last[tag] = &transfers.emplace_back();
    job.at(0).send(1, label_of(tag), bytes, *last[tag]);
    if (rng.below(4) == 0) job.step();
  }
  for (const auto& [tag, all] : sent) {
    for (const auto& expected : all) {
      std::vector<std::byte> in(expected.size());
      Transfer received;
      job.at(1).receive(0, tag, in, received);
      ASSERT_TRUE(step_until(job, [&] { return received.state != Transfer::State::active; }));
      ASSERT_TRUE(received.done());
      ASSERT_EQ(in, expected) << "tag " << tag;
    }
  }
  ASSERT_TRUE(step_until(job, [&] { return std::ranges::all_of(transfers, &Transfer::done); }));
  EXPECT_TRUE(job.world[1]->told.lost.empty());
}

// What a receive was given is the caller's again as soon as it is taken back, in the middle of what
// arrives for it.
TEST_P(StripedMesh, MemoryThatWasTakenBackIsNotWrittenTo) {
  HealingWorld job(2, GetParam().stripes, GetParam().io_threads);
  const auto big = pattern(6 << 20, 3);
  for (Tag round = 0; round < (short_of_time() ? 6u : 30u); ++round) {
    std::vector<std::byte> in(big.size());
    Transfer sent, received;
    job.at(1).receive(0, round, in, received);
    job.at(0).send(1, round, big, sent);
    for (Tag step = 0; step < round * 3; ++step) job.step();
    job.at(1).abandon(0, received);
    if (received.done()) {
      EXPECT_EQ(in, big);
    } else {
      EXPECT_EQ(received.state, Transfer::State::failed);
      std::ranges::fill(in, std::byte{7});
    }
    const bool whole = received.done();
    ASSERT_TRUE(step_until(job, [&] { return sent.done(); }));
    if (!whole) {
      EXPECT_TRUE(std::ranges::all_of(in, [](std::byte b) { return b == std::byte{7}; }));
    }
  }
}

TEST_P(StripedMesh, ARankThatEndsInTheMiddleIsLostAndLeavesNothingAtWork) {
  for (int round = 0; round < (short_of_time() ? 3 : 10); ++round) {
    HealingWorld job(2, GetParam().stripes, GetParam().io_threads);
    constexpr std::size_t kMany = 12;
    std::vector<std::byte> out = pattern(1 << 20, 1);
    std::vector<std::vector<std::byte>> in(kMany, std::vector<std::byte>(out.size()));
    std::vector<Transfer> sends(kMany), receives(kMany), theirs(kMany);
    for (std::size_t i = 0; i < kMany; ++i) {
      job.at(0).receive(1, i, in[i], receives[i]);
      job.at(0).send(1, i, out, sends[i]);
      job.at(1).send(0, i, out, theirs[i]);
    }
    for (int step = 0; step < 3 + round * 2; ++step) job.step();
    job.end(1);
    job.connectors[0]->gone.push_back({1, Status(Code::unavailable, "nobody listens there")});
    ASSERT_TRUE(step_until(job, [&] { return !job.world[0]->told.lost.empty(); }));
    for (std::size_t i = 0; i < kMany; ++i) {
      EXPECT_NE(sends[i].state, Transfer::State::active);
      EXPECT_NE(receives[i].state, Transfer::State::active);
    }
    std::ranges::fill(out, std::byte{0});
    for (auto& each : in) std::ranges::fill(each, std::byte{0});
    job.step();
  }
}

// Where nothing hurries, a stripe may have nothing but the goodbye, and is closed by the peer while
// others still send. A large payload is sent from the caller's memory, and is done when the peer has
// it.
class LeavingMesh : public testing::TestWithParam<std::tuple<Layout, std::size_t, bool>> {};

TEST_P(LeavingMesh, DeliversWhatIsOnEveryStripe) {
  const auto [layout, bytes, some_hurry] = GetParam();
  HealingWorld job(2, layout.stripes, layout.io_threads);
  constexpr std::size_t kMany = 20;
  const auto out = pattern(bytes, 5);
  std::vector<Transfer> sends(kMany), receives(kMany);
  std::vector<std::vector<std::byte>> in(kMany, std::vector<std::byte>(out.size()));
  for (std::size_t i = 0; i < kMany; ++i) {
    job.at(0).send(1, some_hurry ? label_of(i) : Label(i), out, sends[i]);
  }
  job.at(0).leave();
  ASSERT_TRUE(step_until(job, [&] { return job.at(0).left(); }));
  EXPECT_EQ(job.world[1]->told.left, std::vector<Rank>{0});
  EXPECT_TRUE(std::ranges::all_of(sends, &Transfer::done));
  job.world[0]->transport.reset();
  for (std::size_t i = 0; i < kMany; ++i) job.at(1).receive(0, i, in[i], receives[i]);
  ASSERT_TRUE(step_until(job, [&] { return std::ranges::all_of(receives, &Transfer::done); }));
  for (const auto& each : in) EXPECT_EQ(each, out);
  Transfer late;
  job.at(1).receive(0, kMany, in[0], late);
  ASSERT_TRUE(step_until(job, [&] { return late.state == Transfer::State::failed; }));
  EXPECT_TRUE(job.world[1]->told.lost.empty());
}

// Both say goodbye before they have read anything.
TEST_P(LeavingMesh, BothAtOnceGetWhatWasSentBefore) {
  const auto [layout, bytes, some_hurry] = GetParam();
  HealingWorld job(2, layout.stripes, layout.io_threads);
  constexpr std::size_t kMany = 12;
  const auto out = pattern(bytes, 5);
  std::vector<Transfer> sends(2 * kMany), receives(2 * kMany);
  std::vector<std::vector<std::byte>> in(2 * kMany, std::vector<std::byte>(out.size()));
  for (int from = 0; from < 2; ++from) {
    for (std::size_t i = 0; i < kMany; ++i) {
      const std::size_t at = static_cast<std::size_t>(from) * kMany + i;
      job.at(1 - from).receive(from, i, in[at], receives[at]);
      job.at(from).send(1 - from, some_hurry ? label_of(i) : Label(i), out, sends[at]);
    }
  }
  job.at(0).leave();
  job.at(1).leave();
  ASSERT_TRUE(step_until(job, [&] { return std::ranges::all_of(receives, &Transfer::done); }));
  for (const auto& each : in) EXPECT_EQ(each, out);
  ASSERT_TRUE(step_until(job, [&] { return job.at(0).left() && job.at(1).left(); }));
  for (const auto& rank : job.world) EXPECT_TRUE(rank->told.lost.empty());
}

INSTANTIATE_TEST_SUITE_P(Layouts, LeavingMesh,
                         testing::Combine(testing::ValuesIn(kLayouts),
                                          testing::Values(2'000, 200'000, 1'500'000),
                                          testing::Bool()),
                         [](const auto& which) {
                           const Layout layout = std::get<0>(which.param);
                           return cat("stripes", layout.stripes, "threads", layout.io_threads,
                                      "bytes", std::get<1>(which.param),
                                      std::get<2>(which.param) ? "hurry" : "");
                         });
INSTANTIATE_TEST_SUITE_P(Layouts, StripedMesh, testing::ValuesIn(kLayouts), [](const auto& which) {
  return cat("stripes", which.param.stripes, "threads", which.param.io_threads);
});

TEST(Stripes, ConnectionsAreCounted) {
  HealingWorld job(2, 4, 0);
  job.at(0).post(1, pattern(10, 1));
  ASSERT_TRUE(step_until(job, [&] { return !job.world[1]->told.messages.empty(); }));
  ASSERT_TRUE(step_until(job, [&] { return job.at(1).stats().connections == 5; }));
}

}  // namespace
}  // namespace unisono::transport
