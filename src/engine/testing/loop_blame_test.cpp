// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// When the loop beats, and whom it blames for what it hears, under virtual time. The test plays the
// peers.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "base/data/text.hpp"
#include "engine/loop/loop.hpp"
#include "engine/wiring.hpp"

namespace unisono::engine {
namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

// Records what the loop does, and hands it the news that the test has put in.
class PlayedTransport final : public transport::Transport {
 public:
  explicit PlayedTransport(int size) : size_(size) {}
  std::string_view name() const override { return "played"; }
  Rank rank() const override { return 2; }
  int size() const override { return size_; }
  void post(Rank peer, std::span<const std::byte> message) override {
    posted.emplace_back(peer, std::vector(message.begin(), message.end()));
  }
  void send(Rank, transport::Label, std::span<const std::byte>,
            transport::Transfer& done) override {
    done.state = transport::Transfer::State::active;
  }
  void receive(Rank, transport::Label, std::span<std::byte>, transport::Transfer& done) override {
    done.state = transport::Transfer::State::active;
  }
  void abandon(Rank, transport::Transfer& transfer) override {
    transfer.state = transport::Transfer::State::failed;
  }
  bool progress(transport::TransportListener& listener) override {
    const auto all = std::exchange(news, {});
    for (const auto& one : all) one(listener);
    return !all.empty();
  }
  bool ready() const override { return !news.empty(); }
  void beat(Time now, transport::TransportListener&) override { beats.push_back(now); }
  void leave() override { left_ = true; }
  bool left() const override { return left_; }
  transport::TransportStats stats() const override { return {}; }

  std::vector<std::pair<Rank, std::vector<std::byte>>> posted;
  std::vector<std::function<void(transport::TransportListener&)>> news;
  std::vector<Time> beats;

 private:
  const int size_;
  bool left_ = false;
};

class PlayedLoop : public testing::Test {
 protected:
  PlayedLoop() {
    clock_.advance(seconds(1000));
    LoopParts parts;
    parts.shared.options = &options_;
    parts.shared.clock = &clock_;
    parts.inbox = &inbox_;
    parts.names = &names_;
    parts.shared.counters = &counters_;
    parts.shared.timings = &timings_;
    parts.leave = &leave_;
    for (Rank r = 0; r < 4; ++r) parts.peers.push_back({r, cat("host", r), 100 + r});
    auto transport = std::make_unique<PlayedTransport>(4);
    played_ = transport.get();
    parts.transport = std::move(transport);
    parts.planner = std::move(wire_planner(options_).value());
    parts.publish_sets = [](const SetTable&) {};
    parts.publish_slow = [](const observe::SlowRank&, const std::string&) {};
    loop_.emplace(std::move(parts));
  }

  void hear(std::function<void(transport::TransportListener&)> news) {
    played_->news.push_back(std::move(news));
  }
  void lose(Rank rank) {
    hear([rank](transport::TransportListener& listener) {
      listener.on_lost(rank, Status(Code::peer_lost, cat("rank ", rank, " was lost"),
                                    Culprit{rank, cat("host", rank), 100 + rank, {}}));
    });
  }
  void say(Rank from, std::vector<std::byte> message) {
    hear([from, message](transport::TransportListener& listener) {
      listener.on_message(from, message);
    });
  }
  // Passes until nothing is due at this moment.
  void settle() {
    do {
      loop_->pass(SIZE_MAX);
    } while (loop_->ready());
  }
  void run(Nanos length) {
    const Time until = clock_.now() + length;
    settle();
    while (loop_->deadline() <= until) {
      clock_.advance(loop_->deadline() - clock_.now());
      settle();
    }
    clock_.advance(until - clock_.now());
    settle();
  }
  // An operation of this rank that waits for the others.
  std::shared_ptr<TicketState> submit(const std::string& name) {
    Handover submission;
    Pending& pending = submission.operations.emplace_back();
    pending.request.name = name;
    pending.request.shape = {1};
    pending.input = pending.output = &value_;
    pending.ticket = std::make_shared<TicketState>();
    auto ticket = pending.ticket;
    EXPECT_TRUE(inbox_.push(std::move(submission)));
    return ticket;
  }
  // What the loop told the others about the end of the job; nothing while it goes on.
  std::optional<Status> verdict() const {
    for (const auto& [to, message] : played_->posted) {
      auto control = decode_control(message);
      if (control.ok() && control->kind == ControlKind::abort) return control->status;
    }
    return std::nullopt;
  }

  float value_ = 1.0f;
  Options options_;
  ManualClock clock_;
  Inbox<Handover> inbox_{Ringer{}};
  submit::NameRegistry names_;
  observe::Counters counters_;
  observe::Timings timings_;
  std::atomic<bool> leave_{false};
  PlayedTransport* played_ = nullptr;
  std::optional<Loop> loop_;
};

TEST_F(PlayedLoop, BeatsByThePlanHoweverLateItIsCalled) {
  const Nanos every = seconds_to_nanos(options_.heartbeat_s / 2);
  run(seconds(3));
  ASSERT_GE(played_->beats.size(), 4u);
  for (int i = 0; i < 20; ++i) {
    clock_.advance(loop_->deadline() - clock_.now() + milliseconds(10 * (i % 7)));
    settle();
  }
  for (std::size_t i = 1; i < played_->beats.size(); ++i) {
    EXPECT_EQ(played_->beats[i] - played_->beats[i - 1], every) << "small delays must not add up";
  }
  // A rank that was stopped for long starts again.
  clock_.advance(seconds(100));
  settle();
  EXPECT_EQ(played_->beats.back(), clock_.now());
}

TEST_F(PlayedLoop, ALostPeerIsBlamedSoonThoughNotAtOnce) {
  lose(0);
  settle();
  EXPECT_FALSE(verdict());
  run(milliseconds(50));
  ASSERT_TRUE(verdict());
  EXPECT_EQ(verdict()->culprit().rank, 0);
  EXPECT_EQ(verdict()->code(), Code::peer_lost);
}

TEST_F(PlayedLoop, WhoEndedBecauseOfAnotherIsNotBlamed) {
  lose(0);
  settle();
  say(3, encode_abort(Status(Code::peer_lost, "rank 1 was lost", Culprit{1, "host1", 101, {}})));
  run(seconds(1));
  ASSERT_TRUE(verdict());
  EXPECT_EQ(verdict()->culprit().rank, 1) << "what rank 3 had seen came in time";
}

TEST_F(PlayedLoop, OfSeveralLostAllBlameTheSame) {
  lose(3);
  settle();
  lose(1);
  run(seconds(1));
  ASSERT_TRUE(verdict());
  EXPECT_EQ(verdict()->culprit().rank, 1);
}

TEST_F(PlayedLoop, WhoEndedSinceAnotherLeftHasSaidSoBefore) {
  const auto ticket = submit("t");
  settle();
  say(0, encode_left({1}));
  lose(0);
  run(seconds(1));
  ASSERT_TRUE(ticket->done());
  EXPECT_EQ(ticket->status.code(), Code::peer_left) << ticket->status.to_string();
  EXPECT_EQ(ticket->status.culprit().rank, 1) << ticket->status.to_string();
}

TEST_F(PlayedLoop, EverybodyIsToldWhoLeftBeforeTheProgramIs) {
  const auto ticket = submit("t");
  settle();
  say(1, encode_departure({.before = {}, .unfinished = {0}, .persistents = {}, .runs = {}}));
  settle();
  ASSERT_TRUE(ticket->done());
  EXPECT_EQ(ticket->status.culprit().rank, 1);
  std::vector<Rank> told;
  for (const auto& [to, message] : played_->posted) {
    auto control = decode_control(message);
    if (control.ok() && control->kind == ControlKind::left) {
      EXPECT_EQ(control->leavers, std::vector<Rank>{1});
      told.push_back(to);
    }
  }
  EXPECT_EQ(told, (std::vector<Rank>{0, 1, 3})) << "the leaver has yet to say goodbye";
}

TEST_F(PlayedLoop, OneWhoLeftIsNobodysFault) {
  say(1, encode_departure({}));
  hear([](transport::TransportListener& listener) { listener.on_left(1); });
  run(seconds(3600));
  EXPECT_FALSE(verdict()) << verdict()->to_string();
}

}  // namespace
}  // namespace unisono::engine
