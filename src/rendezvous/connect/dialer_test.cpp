// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/dialer.hpp"

#include <gtest/gtest.h>
#include <sodium.h>

#include <deque>

namespace unisono::rendezvous {
namespace {

constexpr Nanos kTurn{1'000'000};

// A rank that listens on loopback, in the same thread as the one that calls it.
struct Listening {
  Listening(const JobKey& key, Rank rank, const Clock& clock) : loop(key, rank, 3, clock) {
    auto listener = listen_tcp("127.0.0.1", 0);
    at = {"127.0.0.1", port_of(*listener).value()};
    loop.open(std::move(*listener));
  }
  BootstrapLoop loop;
  HostPort at;
};

class Calls : public testing::Test {
 protected:
  Calls() : key_(sodium_init() < 0 ? JobKey{} : make_job_key()), caller_(key_, 2, 3, clock_) {}

  // An address at which nobody listens.
  HostPort closed() {
    auto listener = listen_tcp("127.0.0.1", 0);
    return {"127.0.0.1", port_of(*listener).value()};
  }
  // Turns all loops until the dialer has answers or gives up.
  Status run(std::deque<Listening>& others) {
    while (dialer_.answers.empty()) {
      for (Listening& other : others) other.loop.turn(clock_.now() + kTurn);
      caller_.turn(std::min(clock_.now() + kTurn, dialer_.due()));
      if (Status status = dialer_.advance(); !status.ok()) return status;
    }
    return {};
  }

  SteadyClock clock_;
  JobKey key_;
  BootstrapLoop caller_;
  Dialer dialer_{caller_, {kProtocolVersion, Purpose::control, 2, 3, 0}};
};

TEST_F(Calls, TheFirstAddressThatAnswersIsTaken) {
  std::deque<Listening> others;
  others.emplace_back(key_, 0, clock_);
  dialer_.seek(0, {closed(), closed(), others[0].at});
  ASSERT_TRUE(run(others).ok());
  EXPECT_EQ(dialer_.answers[0].peer, 0);
  EXPECT_EQ(dialer_.answers[0].at.port, others[0].at.port);
  EXPECT_FALSE(dialer_.seeking());
  EXPECT_EQ(dialer_.due(), kNever);
}

TEST_F(Calls, AHostThatIsAnotherRankIsNotTakenForThePeer) {
  std::deque<Listening> others;
  others.emplace_back(key_, 1, clock_);
  others.emplace_back(key_, 0, clock_);
  dialer_.seek(0, {others[0].at, others[1].at});
  ASSERT_TRUE(run(others).ok());
  EXPECT_EQ(dialer_.answers[0].at.port, others[1].at.port);
}

TEST_F(Calls, AnAddressThatTakesTheCallAndSaysNothingIsLeftInTheEnd) {
  auto mute = listen_tcp("127.0.0.1", 0);   // the kernel accepts, nobody answers
  std::deque<Listening> others;
  others.emplace_back(key_, 0, clock_);
  dialer_.seek(0, {{"127.0.0.1", port_of(*mute).value()}, others[0].at});
  ASSERT_TRUE(run(others).ok());
  EXPECT_EQ(dialer_.answers[0].at.port, others[0].at.port);
  EXPECT_EQ(caller_.calls_pending(), 0U) << "the other call was ended";
}

TEST_F(Calls, APeerThatComesLaterIsFoundInALaterRound) {
  std::deque<Listening> others;
  const HostPort at = closed();
  dialer_.seek(0, {closed(), at});
  for (int turn = 0; turn < 20; ++turn) {
    caller_.turn(clock_.now() + kTurn);
    ASSERT_TRUE(dialer_.advance().ok());
  }
  EXPECT_TRUE(dialer_.seeking());
  EXPECT_NE(dialer_.trouble(), "");
  auto listener = listen_tcp(at.host, at.port);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  BootstrapLoop late(key_, 0, 3, clock_);
  late.open(std::move(*listener));
  while (dialer_.answers.empty()) {
    late.turn(clock_.now() + kTurn);
    caller_.turn(clock_.now() + kTurn);
    ASSERT_TRUE(dialer_.advance().ok());
  }
  EXPECT_EQ(dialer_.answers[0].at.port, at.port);
}

TEST_F(Calls, WhoRefusesAtEveryAddressIsNamed) {
  std::deque<Listening> others;
  JobKey wrong = key_;
  wrong[0] ^= 1;
  others.emplace_back(wrong, 0, clock_);
  others.emplace_back(wrong, 0, clock_);
  dialer_.seek(0, {others[0].at, others[1].at});
  const Status status = run(others);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.culprit().rank, 0);
  EXPECT_NE(status.message().find(address_text(others[1].at.host, others[1].at.port)),
            std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace unisono::rendezvous
