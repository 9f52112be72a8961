// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every Transport promises. A new way to move bytes joins with one line at the end.
// Long because the contract of all transports is read as a whole.
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/testing/effort.hpp"
#include "transport/testing/test_world.hpp"

namespace unisono::transport {
namespace {

struct Kind {
  const char* name;
  World (*join)(int size);
};

class TransportContract : public testing::TestWithParam<std::tuple<Kind, int>> {
 protected:
  TransportContract() : world_(std::get<0>(GetParam()).join(std::get<1>(GetParam()))) {}
  int size() const { return static_cast<int>(world_.size()); }
  TestRank& rank(int r) { return *world_[static_cast<std::size_t>(r)]; }
  Transport& at(int r) { return *rank(r).transport; }
  bool until(const std::function<bool()>& done) { return pump_until(world_, done); }
  World world_;
};

TEST_P(TransportContract, MessagesArriveWholeAndInOrder) {
  constexpr std::size_t kEach = 300;
  for (std::size_t i = 0; i < kEach; ++i) {
    for (int a = 0; a < size(); ++a) {
      for (int b = 0; b < size(); ++b) {
        if (a != b) at(a).post(b, pattern(i * 7 % 2000, static_cast<unsigned>(i)));
      }
    }
  }
  const std::size_t expected = kEach * static_cast<std::size_t>(size() - 1);
  ASSERT_TRUE(until([&] {
    for (auto& r : world_) {
      if (r->told.messages.size() < expected) return false;
    }
    return true;
  }));
  for (auto& r : world_) {
    std::vector<std::size_t> next(world_.size());
    for (auto& [from, bytes] : r->told.messages) {
      const std::size_t i = next[static_cast<std::size_t>(from)]++;
      ASSERT_EQ(bytes, pattern(i * 7 % 2000, static_cast<unsigned>(i)));
    }
  }
  EXPECT_EQ(at(0).stats().control_messages, expected);
}

TEST_P(TransportContract, MessageOfSixteenMebibytesArrives) {
  const auto big = pattern(16 << 20, 5);
  at(0).post(1, big);
  at(0).post(1, {});
  ASSERT_TRUE(until([&] { return rank(1).told.messages.size() == 2; }));
  EXPECT_EQ(rank(1).told.messages[0].second, big);
  EXPECT_TRUE(rank(1).told.messages[1].second.empty());
}

TEST_P(TransportContract, FullDataLaneDoesNotHoldUpControl) {
  const auto big = pattern(8 << 20, 1);
  Transfer sent;
  at(0).send(1, 1, big, sent);
  at(0).post(1, pattern(10, 2));
  ASSERT_TRUE(until([&] { return rank(1).told.messages.size() == 1; }));
  EXPECT_EQ(rank(1).told.messages[0].second, pattern(10, 2));
  at(0).abandon(1, sent);
}

TEST_P(TransportContract, DataIsMatchedByTagInAnyOrder) {
  constexpr Tag kTags = 50;
  std::vector<std::vector<std::byte>> out, in(kTags);
  std::vector<Transfer> sends(kTags), receives(kTags);
  for (Tag t = 0; t < kTags; ++t) out.push_back(pattern(t * 100, static_cast<unsigned>(t)));
  for (Tag t = 0; t < kTags; ++t) in[t].resize(out[t].size());
  for (Tag t = 0; t < kTags / 2; ++t) at(1).receive(0, t, in[t], receives[t]);
  for (Tag t = 0; t < kTags; ++t) at(0).send(1, kTags - 1 - t, out[kTags - 1 - t], sends[t]);
  pump_some(world_);
  for (Tag t = kTags / 2; t < kTags; ++t) at(1).receive(0, t, in[t], receives[t]);
  ASSERT_TRUE(until([&] {
    return std::ranges::all_of(receives, &Transfer::done) &&
           std::ranges::all_of(sends, &Transfer::done);
  }));
  EXPECT_EQ(in, out);
}

TEST_P(TransportContract, EqualTagsInSequenceKeepTheirOrder) {
  const auto first = pattern(64, 1), second = pattern(64, 2);
  Transfer s1, s2, r1, r2;
  at(0).send(1, 9, first, s1);
  ASSERT_TRUE(until([&] { return s1.done(); }));
  at(0).send(1, 9, second, s2);
  pump_some(world_);
  std::vector<std::byte> a(64), b(64);
  at(1).receive(0, 9, a, r1);
  at(1).receive(0, 9, b, r2);
  ASSERT_TRUE(until([&] { return s2.done() && r1.done() && r2.done(); }));
  EXPECT_EQ(a, first);
  EXPECT_EQ(b, second);
}

TEST_P(TransportContract, ReceivePostedWhileDataArrivesGetsAllOfIt) {
  const auto big = pattern(3 << 20, 7);
  std::vector<std::byte> in(big.size());
  Transfer sent, received;
  at(0).send(1, 4, big, sent);
  rank(1).progress();
  at(1).receive(0, 4, in, received);
  ASSERT_TRUE(until([&] { return sent.done() && received.done(); }));
  EXPECT_EQ(in, big);
}

// Long enough that no transport takes it at once.
constexpr std::size_t kLongBytes = 24 << 20;

TEST_P(TransportContract, AnAbandonedSendArrivesFromACopy) {
  const auto expected = pattern(kLongBytes, 3), next = pattern(100, 4);
  auto out = std::make_unique<std::vector<std::byte>>(expected);
  std::vector<std::byte> in(kLongBytes), small(100);
  Transfer sent, received, sent_next, received_next;
  at(0).send(1, 5, *out, sent);
  at(0).send(1, 6, next, sent_next);
  rank(1).progress();
  rank(0).progress();
  at(0).abandon(1, sent);
  // Only threads may have sent all of it meanwhile.
  EXPECT_NE(sent.state, Transfer::State::active);
  out.reset();
  at(1).receive(0, 5, in, received);
  at(1).receive(0, 6, small, received_next);
  ASSERT_TRUE(until([&] { return received.done() && received_next.done() && sent_next.done(); }));
  EXPECT_EQ(in, expected);
  EXPECT_EQ(small, next);
}

TEST_P(TransportContract, AnAbandonedReceiveTakesNothingAndTheRestGoesOn) {
  const auto big = pattern(kLongBytes, 3), next = pattern(100, 4);
  for (const bool arriving : {false, true}) {
    const Tag tag = arriving ? 10 : 20;
    auto in = std::make_unique<std::vector<std::byte>>(kLongBytes);
    std::vector<std::byte> small(100);
    Transfer sent, received, sent_next, received_next;
    at(1).receive(0, tag, *in, received);
    if (arriving) {
      at(0).send(1, tag, big, sent);
      rank(0).progress();
      rank(1).progress();
    }
    at(1).abandon(0, received);
    const Transfer::State state = received.state;
    // Only threads may have brought all of it meanwhile.
    EXPECT_TRUE(state == Transfer::State::failed || (arriving && state == Transfer::State::done));
    in.reset();
    if (!arriving) at(0).send(1, tag, big, sent);
    at(0).send(1, tag + 1, next, sent_next);
    at(1).receive(0, tag + 1, small, received_next);
    ASSERT_TRUE(until([&] { return sent.done() && sent_next.done() && received_next.done(); }));
    EXPECT_EQ(small, next);
    EXPECT_EQ(received.state, state);
  }
}

TEST_P(TransportContract, WhatIsDoneStaysDoneWhenAbandoned) {
  const auto out = pattern(100, 4);
  std::vector<std::byte> in(100);
  Transfer sent, received;
  at(0).send(1, 5, out, sent);
  at(1).receive(0, 5, in, received);
  ASSERT_TRUE(until([&] { return sent.done() && received.done(); }));
  at(0).abandon(1, sent);
  at(1).abandon(0, received);
  EXPECT_TRUE(sent.done() && received.done());
}

TEST_P(TransportContract, BigTransfersGoBothWaysAtOnce) {
  const std::size_t bytes = short_of_time() ? 2 << 20 : 8 << 20;
  const auto n = world_.size();
  std::vector<std::vector<std::byte>> out(n);
  std::vector<std::vector<std::vector<std::byte>>> in(n);
  std::vector<std::vector<Transfer>> sends(n), receives(n);
  for (std::size_t a = 0; a < n; ++a) {
    out[a] = pattern(bytes, static_cast<unsigned>(a));
    in[a].resize(n);
    sends[a].resize(n);
    receives[a].resize(n);
  }
  for (std::size_t a = 0; a < n; ++a) {
    const std::size_t b = (a + 1) % n, c = (a + n - 1) % n;
    in[a][c].resize(bytes);
    world_[a]->transport->receive(static_cast<Rank>(c), 77, in[a][c], receives[a][c]);
    world_[a]->transport->send(static_cast<Rank>(b), 77, out[a], sends[a][b]);
  }
  ASSERT_TRUE(until([&] {
    for (std::size_t a = 0; a < n; ++a) {
      if (!receives[a][(a + n - 1) % n].done() || !sends[a][(a + 1) % n].done()) return false;
    }
    return true;
  }));
  for (std::size_t a = 0; a < n; ++a) EXPECT_EQ(in[a][(a + n - 1) % n], out[(a + n - 1) % n]);
}

TEST_P(TransportContract, DifferentLengthsFailTheLinkWhicheverComesFirst) {
  for (const bool posted_first : {true, false}) {
    world_ = std::get<0>(GetParam()).join(size());
    const auto out = pattern(64, 3);
    std::vector<std::byte> in(32);
    Transfer sent, received;
    if (posted_first) at(1).receive(0, 5, in, received);
    at(0).send(1, 5, out, sent);
    pump_some(world_);
    if (!posted_first) {
      at(1).receive(0, 5, in, received);
      // Unless threads have yet to bring it.
      EXPECT_TRUE(received.state == Transfer::State::active || at(1).ready());
    }
    ASSERT_TRUE(until([&] { return rank(1).told.lost.size() == 1; }));
    EXPECT_EQ(received.state, Transfer::State::failed);
    EXPECT_EQ(rank(1).told.lost[0].second.code(), Code::corrupted);
    EXPECT_EQ(rank(1).told.lost[0].second.culprit().rank, 0);
    EXPECT_EQ(in, std::vector<std::byte>(32));
    ASSERT_TRUE(until([&] { return rank(0).told.lost.size() == 1; }));
    EXPECT_EQ(rank(0).told.lost[0].second.code(), Code::corrupted);
  }
}

// Equal tag and length, but another bucket: nothing may be delivered; both ends report the same.
TEST_P(TransportContract, AnotherIdentityFailsBothEndsWhicheverComesFirst) {
  for (const bool posted_first : {true, false}) {
    world_ = std::get<0>(GetParam()).join(size());
    const auto out = pattern(64, 3);
    std::vector<std::byte> in(64);
    Transfer sent, received;
    if (posted_first) at(1).receive(0, {5, 0xabc}, in, received);
    at(0).send(1, {5, 0xdef}, out, sent);
    pump_some(world_);
    if (!posted_first) {
      at(1).receive(0, {5, 0xabc}, in, received);
      // Unless threads have yet to bring it.
      EXPECT_TRUE(received.state == Transfer::State::active || at(1).ready());
    }
    ASSERT_TRUE(until([&] {
      return rank(0).told.lost.size() == 1 && rank(1).told.lost.size() == 1;
    }));
    EXPECT_EQ(received.state, Transfer::State::failed);
    EXPECT_EQ(in, std::vector<std::byte>(64));
    for (const int r : {0, 1}) {
      const Status& why = rank(r).told.lost[0].second;
      EXPECT_EQ(why.code(), Code::mismatch) << why.to_string();
      EXPECT_EQ(why.culprit().rank, 0);
      for (const char* part : {"rank 0", "0x5", "0xabc", "0xdef"}) {
        EXPECT_NE(why.message().find(part), std::string::npos) << part << ": " << why.message();
      }
    }
  }
}

TEST_P(TransportContract, EqualIdentitiesTravelWithTheirData) {
  const auto out = pattern(300'000, 3);
  std::vector<std::byte> in(out.size());
  Transfer sent, received;
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 48) - 1;
  at(1).receive(0, {5, kLargest}, in, received);
  at(0).send(1, {5, kLargest}, out, sent);
  ASSERT_TRUE(until([&] { return sent.done() && received.done(); }));
  EXPECT_EQ(in, out);
}

TEST_P(TransportContract, PeerThatVanishesIsLostOnceAndItsTransfersFail) {
  std::vector<std::byte> in(100), big = pattern(16 << 20, 1);
  Transfer received, sent, after;
  at(1).receive(0, 1, in, received);
  at(1).send(0, 2, big, sent);
  rank(0).transport.reset();
  ASSERT_TRUE(until([&] { return !rank(1).told.lost.empty(); }));
  pump_some(world_);
  ASSERT_EQ(rank(1).told.lost.size(), 1u);
  const Status& why = rank(1).told.lost[0].second;
  EXPECT_EQ(why.code(), Code::peer_lost);
  EXPECT_EQ(why.culprit().rank, 0);
  EXPECT_NE(why.message().find("rank 0 (host "), std::string::npos) << why.message();
  EXPECT_EQ(received.state, Transfer::State::failed);
  EXPECT_EQ(sent.state, Transfer::State::failed);
  at(1).receive(0, 3, in, after);
  EXPECT_EQ(after.state, Transfer::State::failed);
  at(1).send(0, 3, in, after);
  EXPECT_EQ(after.state, Transfer::State::failed);
  at(1).post(0, in);
  EXPECT_TRUE(rank(1).told.left.empty());
  EXPECT_FALSE(at(1).ready());
}

TEST_P(TransportContract, LeavingDeliversWhatWasSentBefore) {
  const auto big = pattern(3 << 20, 8);
  Transfer sent, received, too_late;
  at(0).post(1, pattern(9, 9));
  at(0).send(1, 6, big, sent);
  at(0).leave();
  ASSERT_TRUE(until([&] { return at(0).left(); }));
  EXPECT_TRUE(sent.done());
  rank(0).transport.reset();
  pump_some(world_);
  EXPECT_EQ(rank(1).told.left, std::vector<Rank>{0});
  ASSERT_EQ(rank(1).told.messages.size(), 1u);
  std::vector<std::byte> in(big.size());
  at(1).receive(0, 6, in, received);
  ASSERT_TRUE(received.done());
  EXPECT_EQ(in, big);
  at(1).receive(0, 7, in, too_late);
  EXPECT_EQ(too_late.state, Transfer::State::failed);
  EXPECT_TRUE(rank(1).told.lost.empty());
  EXPECT_TRUE(until([&] { return !at(1).ready(); })) << "it would never sleep";
}

TEST_P(TransportContract, PendingReceiveFailsWhenThePeerLeaves) {
  std::vector<std::byte> in(10);
  Transfer received;
  at(1).receive(0, 6, in, received);
  at(0).leave();
  ASSERT_TRUE(until([&] { return received.state == Transfer::State::failed; }));
  EXPECT_TRUE(rank(1).told.lost.empty());
}

TEST_P(TransportContract, EveryoneLeavesTogetherWithoutLosses) {
  for (int r = 0; r < size(); ++r) {
    for (int p = 0; p < size(); ++p) {
      if (p != r) at(r).post(p, pattern(1000, 1));
    }
    at(r).leave();
  }
  // Each rank goes as soon as it may, while the others still wait.
  std::vector<bool> gone(world_.size());
  ASSERT_TRUE(until([&] {
    for (std::size_t r = 0; r < world_.size(); ++r) {
      if (!gone[r] && world_[r]->transport->left()) {
        gone[r] = true;
        world_[r]->transport.reset();
      }
    }
    return std::ranges::all_of(gone, std::identity{});
  }));
  for (auto& r : world_) {
    EXPECT_TRUE(r->told.lost.empty()) << r->told.lost[0].second.to_string();
    EXPECT_EQ(r->told.messages.size(), world_.size() - 1);
    EXPECT_EQ(r->told.left.size(), world_.size() - 1);
  }
}

TEST_P(TransportContract, OneThreadPerRankExchangesWithAll) {
  const Tag rounds = short_of_time() ? 12 : 40;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int self = 0; self < size(); ++self) {
    threads.emplace_back([&, self] {
      Transport& transport = at(self);
      Recorder& told = rank(self).told;
      const auto n = world_.size();
      for (Tag round = 0; round < rounds; ++round) {
        const std::size_t bytes = 1 + round * 9973;
        const auto out = pattern(bytes, static_cast<unsigned>(self));
        std::vector<std::vector<std::byte>> in(n, std::vector<std::byte>(bytes));
        std::vector<Transfer> sends(n), receives(n);
        for (int p = 0; p < size(); ++p) {
          if (p == self) continue;
          transport.send(p, round, out, sends[static_cast<std::size_t>(p)]);
          transport.receive(p, round, in[static_cast<std::size_t>(p)],
                            receives[static_cast<std::size_t>(p)]);
          transport.post(p, out);
        }
        const auto busy = [](const Transfer& t) { return t.state == Transfer::State::active; };
        while (std::ranges::any_of(sends, busy) || std::ranges::any_of(receives, busy)) {
          if (!transport.progress(told)) std::this_thread::yield();
        }
        for (int p = 0; p < size(); ++p) {
          if (p != self && in[static_cast<std::size_t>(p)] !=
                               pattern(bytes, static_cast<unsigned>(p))) {
            ++wrong;
          }
        }
      }
      transport.leave();
      while (!transport.left()) {
        if (!transport.progress(told)) std::this_thread::yield();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  for (auto& r : world_) {
    EXPECT_TRUE(r->told.lost.empty()) << r->told.lost[0].second.to_string();
    EXPECT_EQ(r->told.messages.size(), rounds * (world_.size() - 1));
  }
}

// Sleeps as an engine does: arm, look once more, wait, disarm.
void park(TestRank& rank) {
  rank.bell.arm();
  if (!rank.transport->ready()) {
    const auto woken = rank.poller.wait(std::chrono::seconds(5));
    EXPECT_FALSE(woken.empty()) << "a wake-up was lost";
  }
  rank.bell.disarm();
  rank.bell.drain();
}

TEST_P(TransportContract, SleepersLoseNoWakeUp) {
  const std::size_t turns = short_of_time() ? 2000 : 20000;  // each turn sleeps
  const auto play = [&](int self, int other, bool serves) {
    TestRank& me = rank(self);
    me.poller.watch(me.bell.fd(), 0, true, false);
    const auto ball = pattern(40, 1);
    if (serves) me.transport->post(other, ball);
    for (std::size_t turn = 0; turn < turns; ++turn) {
      while (me.told.messages.empty()) {
        if (!me.progress()) park(me);
        if (testing::Test::HasFailure()) return;
      }
      me.told.messages.clear();
      if (!serves || turn + 1 < turns) me.transport->post(other, ball);
    }
  };
  std::thread server([&] { play(0, 1, true); });
  play(1, 0, false);
  server.join();
}

TEST_P(TransportContract, SleepersWaitingForRoomAreWoken) {
  const auto big = pattern(4 << 20, 1);
  std::vector<std::byte> in(big.size());
  const auto run = [&](int self, bool sends) {
    TestRank& me = rank(self);
    me.poller.watch(me.bell.fd(), 0, true, false);
    for (Tag round = 0; round < 8; ++round) {
      Transfer transfer;
      if (sends) me.transport->send(1, round, big, transfer);
      else me.transport->receive(0, round, in, transfer);
      while (!transfer.done()) {
        if (!me.progress()) park(me);
        if (testing::Test::HasFailure()) return;
      }
    }
  };
  std::thread sender([&] { run(0, true); });
  run(1, false);
  sender.join();
  EXPECT_EQ(in, big);
}

World join_shm(int size) { return join_lanes(size, shm_lanes); }
template <SealKind kKind>
World join_tcp(int size) {
  return join_lanes(size, sealed_lanes<kKind>);
}
template <std::size_t kStripes, std::size_t kThreads>
World join_striped(int size) {
  return join_lanes(size, sealed_lanes<SealKind::aes_256_gcm, kStripes>, {}, 1, kThreads);
}

// Instrumented, one of each kind that has code of its own.
std::vector<Kind> kinds() {
  std::vector<Kind> all{Kind{"inproc", join_threads},
                        Kind{"shm", join_shm},
                        Kind{"tcp", join_tcp<SealKind::aes_256_gcm>},
                        Kind{"tcp_encrypted", join_tcp<SealKind::aes_256_gcm_encrypted>},
                        Kind{"tcp_striped_2_threads_", join_striped<2, 2>}};
  if (short_of_time()) return all;
  all.insert(all.end(), {Kind{"tcp_chacha", join_tcp<SealKind::chacha20_poly1305>},
                         Kind{"tcp_plain", join_tcp<SealKind::hash>},
                         Kind{"tcp_threads_", join_striped<1, 2>},
                         Kind{"tcp_striped_2_", join_striped<2, 0>},
                         Kind{"tcp_striped_8_", join_striped<8, 0>},
                         Kind{"tcp_striped_8_threads_", join_striped<8, 2>}});
  return all;
}
std::vector<int> numbers_of_ranks() {
  return short_of_time() ? std::vector{2, 5} : std::vector{2, 3, 5};
}

INSTANTIATE_TEST_SUITE_P(
    All, TransportContract,
    testing::Combine(testing::ValuesIn(kinds()), testing::ValuesIn(numbers_of_ranks())),
    [](const auto& which) {
      return std::string(std::get<0>(which.param).name) + std::to_string(std::get<1>(which.param));
    });

}  // namespace
}  // namespace unisono::transport
