// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Connections that break at any byte, again and again: every frame arrives once, in order, as it was
// sent, and no transfer is done before the peer has its bytes.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <utility>

#include "base/data/rng.hpp"
#include "base/testing/effort.hpp"
#include "transport/mesh/link.hpp"
#include "transport/mesh/testing/healing_world.hpp"
#include "transport/testing/pipe_stream.hpp"

namespace unisono::transport {
namespace {

class Collector final : public FrameSink {
 public:
  Result<std::byte*> place(const FrameHeader& header) override {
    ++placed;
    buffer.resize(static_cast<std::size_t>(header.length));
    return buffer.data();
  }
  void deliver(LaneKind, const FrameHeader& header) override {
    if (header.kind != FrameKind::data) return;
    frames.push_back(buffer);
    tags.push_back(header.tag);
  }
  std::vector<std::byte> buffer;
  std::vector<std::vector<std::byte>> frames;
  std::vector<std::uint64_t> tags;
  int placed = 0;
};

LaneSecret connection_secret(SealKind kind, int connection, int side) {
  LaneSecret secret{kind, {}, {}};
  secret.out.fill(static_cast<unsigned char>(3 * connection + side));
  secret.in.fill(static_cast<unsigned char>(3 * connection + 1 - side));
  return secret;
}

class HealingLane : public testing::TestWithParam<SealKind> {};

TEST_P(HealingLane, EveryFrameArrivesOnceWhereverTheStreamBreaks) {
  const int seeds = has_time() ? 500 : short_of_time() ? 8 : 40;
  for (int seed = 0; seed < seeds; ++seed) {
    Rng rng(static_cast<std::uint64_t>(seed));
    std::deque<Pipe> pipes;                 // outlive the streams
    int connection = 0;
    Collector sink, nothing;
    constexpr std::size_t kCopied = 32 << 10;
    Link sender(nullptr, LaneKind::data, 1, {}, true, kCopied);
    Link receiver(nullptr, LaneKind::data, 1, {}, true, kCopied);
    const auto connect = [&] {
      Pipe& there = pipes.emplace_back();
      Pipe& back = pipes.emplace_back();
      there.step = 1 + rng.below(rng.below(2) == 0 ? 90 : 40'000);
      back.step = 1 + rng.below(100);
      ++connection;
      sender.attach(std::make_unique<PipeStream>(&back, &there),
                    connection_secret(GetParam(), connection, 0));
      receiver.attach(std::make_unique<PipeStream>(&there, &back),
                      connection_secret(GetParam(), connection, 1));
    };
    std::vector<std::vector<std::byte>> sent;
    std::deque<Transfer> transfers;
    constexpr std::size_t kFrames = 40;
    int breaks = 0;
    while (sink.frames.size() < kFrames) {
      if (sent.size() < kFrames && rng.below(3) == 0) {
        const std::size_t size = rng.below(4) == 0 ? 32'769 + rng.below(60'000) : rng.below(300);
        sent.push_back(pattern(size, static_cast<unsigned>(rng())));
        // The payload belongs to the caller again when its transfer is done.
        transfers.emplace_back().state = Transfer::State::active;
        sender.send(FrameKind::data, sent.size(), sent.back(), &transfers.back());
      }
      if (!sender.has_stream() && rng.below(2) == 0) connect();
      sender.flush();
      receiver.flush();
      ASSERT_TRUE(sender.pump(nothing).why.ok());
      const Link::Pumped pumped = receiver.pump(sink);
      ASSERT_TRUE(pumped.why.ok()) << pumped.why.to_string();
      if (receiver.owes() && rng.below(5) == 0) {
        // As if a beat had come on the control lane.
        receiver.told_received();
        ASSERT_TRUE(sender.acknowledged(receiver.received()).ok());
      }
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        const bool copied = sent[i].size() <= kCopied;
        if (!copied && transfers[i].done()) {
          ASSERT_LT(i, receiver.received());
        }
      }
      if (breaks < 60 && rng.below(4) == 0) {
        sender.detach();
        receiver.detach();
        ++breaks;
      }
    }
    ASSERT_TRUE(sender.acknowledged(receiver.received()).ok());
    EXPECT_TRUE(std::ranges::all_of(transfers, [](const Transfer& t) { return t.done(); }));
    EXPECT_EQ(sink.frames, sent) << "seed " << seed;
    EXPECT_EQ(sink.placed, static_cast<int>(kFrames)) << "a frame that comes again has its place";
    for (std::size_t i = 0; i < kFrames; ++i) EXPECT_EQ(sink.tags[i], i + 1);
  }
}

// Whoever says that more arrived than was sent, or wants back what it has acknowledged, is not
// believed.
TEST_P(HealingLane, ImpossibleCountsAreRefused) {
  Pipe there, back;
  Link sender(std::make_unique<PipeStream>(&back, &there), LaneKind::data, 1,
              connection_secret(GetParam(), 1, 0), true);
  const std::vector<std::byte> payload(100);
  sender.send(FrameKind::data, 1, payload, nullptr);
  EXPECT_EQ(sender.acknowledged(2).code(), Code::corrupted);
  EXPECT_TRUE(sender.acknowledged(1).ok());

  Pipe new_there, new_back;
  sender.attach(std::make_unique<PipeStream>(&new_back, &new_there), connection_secret(GetParam(), 2, 0));
  Link liar(nullptr, LaneKind::data, 1, {}, true);  // it has received nothing
  liar.attach(std::make_unique<PipeStream>(&new_there, &new_back), connection_secret(GetParam(), 2, 1));
  Collector nothing;
  EXPECT_EQ(sender.pump(nothing).why.code(), Code::corrupted);
}

TEST_P(HealingLane, AResumeInTheMiddleIsRefused) {
  Pipe there, back;
  Link receiver(std::make_unique<PipeStream>(&there, &back), LaneKind::data, 1,
                connection_secret(GetParam(), 1, 1), true);
  const LaneSecret secret = connection_secret(GetParam(), 1, 0);
  const auto seal = FrameSeal::make(secret.kind, secret.out);
  const LaneTerms terms{LaneKind::data, 1, true,
                        FrameSeal::make(secret.kind, secret.out)->encrypts()};
  for (const std::uint64_t sequence : {std::uint64_t{0}, kResumeSequence}) {
    FrameHeader header = make_header(terms, FrameKind::resume, sequence, 0, 0);
    seal_header(*seal, header);
    const auto bytes = std::as_bytes(std::span(&header, 1));
    there.bytes.assign(bytes.begin(), bytes.end());
    Collector nothing;
    EXPECT_EQ(receiver.pump(nothing).why.code(), Code::corrupted);
    receiver = Link(std::make_unique<PipeStream>(&there, &back), LaneKind::data, 1,
                    connection_secret(GetParam(), 1, 1), true);
  }
}

INSTANTIATE_TEST_SUITE_P(Seals, HealingLane,
                         testing::Values(SealKind::hash, SealKind::aes_256_gcm,
                                         SealKind::chacha20_poly1305_encrypted),
                         [](const auto& which) {
                           std::string name(seal_name(which.param));
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

TEST(HealingMesh, RanksThatNeverMetConnectWhenTheySpeak) {
  HealingWorld job(3);
  EXPECT_EQ(job.at(0).stats().connections, 0u);
  EXPECT_FALSE(job.at(0).knows(1));
  job.at(0).post(1, pattern(10, 1));
  job.at(1).post(0, pattern(11, 1));        // both call at once
  while (job.world[0]->told.messages.empty() || job.world[1]->told.messages.empty()) job.step();
  EXPECT_TRUE(job.at(1).knows(0));
  EXPECT_FALSE(job.at(1).knows(2));
  EXPECT_EQ(job.at(2).stats().connections, 0u);
  for (int rank = 0; rank < 3; ++rank) job.at(rank).leave();
  for (int i = 0; i < 200; ++i) job.step();
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(job.at(rank).left());
  EXPECT_EQ(job.world[0]->told.left, std::vector<Rank>{1});
  EXPECT_TRUE(job.world[0]->told.lost.empty());
}

TEST(HealingMesh, AThousandResetsInTheMiddleOfTransfersLoseNothing) {
  HealingWorld job(2);
  Rng rng(7);
  const int wanted = short_of_time() ? 100 : 1000;
  int resets = 0;
  for (int round = 0; resets < wanted; ++round) {
    const auto size = static_cast<std::size_t>(rng.below(3) == 0 ? 1 + rng.below(1000)
                                                                : 1 + rng.below(150'000));
    const auto a = pattern(size, 3 * static_cast<unsigned>(round));
    const auto b = pattern(size, 3 * static_cast<unsigned>(round) + 1);
    std::vector<std::byte> at_a(size), at_b(size);
    Transfer moves[4];
    job.at(0).receive(1, {9, 5}, at_a, moves[0]);
    job.at(1).receive(0, {9, 5}, at_b, moves[1]);
    job.at(0).send(1, {9, 5}, a, moves[2]);
    job.at(1).send(0, {9, 5}, b, moves[3]);
    job.at(0).post(1, pattern(20, static_cast<unsigned>(round)));
    for (int step = 0; !std::ranges::all_of(moves, [](const Transfer& t) { return t.done(); });
         ++step) {
      ASSERT_LT(step, 1'000'000);
      job.step();
      auto& sockets = job.connectors[rng.below(2)]->sockets;
      if (sockets.empty() || resets >= wanted || rng.below(6) != 0) continue;
      const std::size_t which = sockets.size() - 1 - rng.below(std::min<std::size_t>(4, sockets.size()));
      // Old ones have been closed, and their number may belong to another.
      if (::fcntl(sockets[which], F_GETFD) >= 0) {
        reset(sockets[which]);
        ++resets;
      }
    }
    ASSERT_EQ(at_a, b);
    ASSERT_EQ(at_b, a);
  }
  EXPECT_TRUE(job.world[0]->told.lost.empty());
  EXPECT_TRUE(job.world[1]->told.lost.empty());
  EXPECT_GT(job.at(0).stats().reconnections, 10u);
  // Messages came as often as they were posted, in order.
  const auto& messages = job.world[1]->told.messages;
  for (int i = 0; i < 1000 && job.at(0).stats().control_messages != messages.size(); ++i) job.step();
  ASSERT_EQ(job.at(0).stats().control_messages, messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(messages[i].second, pattern(20, static_cast<unsigned>(i)));
  }
}

// Its goodbye is written, but not read: what is behind a reset counts as much as before.
TEST(HealingMesh, WhatARankSentBeforeItLeftArrivesThoughItsConnectionsAreReset) {
  for (const std::size_t stripes : {1u, 3u}) {
    HealingWorld job(2, stripes);
    std::vector<std::vector<std::byte>> out, in(stripes, std::vector<std::byte>(50'000));
    std::vector<Transfer> sends(stripes), receives(stripes);
    job.at(1).post(0, pattern(10, 1));
    job.at(0).post(1, pattern(10, 1));
    while (job.world[0]->told.messages.empty() || job.world[1]->told.messages.empty()) job.step();
    for (int i = 0; i < 20; ++i) job.step();
    for (std::size_t i = 0; i < stripes; ++i) {
      out.push_back(pattern(50'000, static_cast<unsigned>(i)));
      job.at(1).send(0, i, out[i], sends[i]);
    }
    job.at(1).leave();
    for (int i = 0; i < 20; ++i) job.world[1]->progress();
    const std::vector<int> sockets = job.connectors[1]->sockets;
    for (const int socket : sockets) {
      if (::fcntl(socket, F_GETFD) >= 0) reset(socket);
    }
    for (std::size_t i = 0; i < stripes; ++i) job.at(0).receive(1, i, in[i], receives[i]);
    const auto arrived = [&] {
      return std::ranges::all_of(receives, [](const Transfer& t) { return t.done(); });
    };
    for (int i = 0; i < 10'000 && !arrived(); ++i) job.step();
    ASSERT_TRUE(arrived());
    EXPECT_EQ(in, out);
    job.at(0).leave();
    for (int i = 0; i < 10'000 && !(job.at(0).left() && job.at(1).left()); ++i) job.step();
    EXPECT_TRUE(job.at(0).left() && job.at(1).left());
    EXPECT_TRUE(job.world[0]->told.lost.empty());
  }
}

// The goodbye and the end of the control lane are read before the frame that does not fit.
TEST(HealingMesh, AMismatchBehindAGoodbyeIsFoundOnce) {
  HealingWorld job(2);
  job.at(1).post(0, pattern(10, 1));
  job.at(0).post(1, pattern(10, 1));
  while (job.world[0]->told.messages.empty() || job.world[1]->told.messages.empty()) job.step();
  for (int i = 0; i < 20; ++i) job.step();
  std::vector<std::byte> in(1000);
  const auto out = pattern(1000, 3);
  Transfer received, sent;
  job.at(0).receive(1, {9, 5}, in, received);
  job.at(1).send(0, {9, 6}, out, sent);
  job.at(1).leave();
  for (int i = 0; i < 20; ++i) job.world[1]->progress();
  job.end(1);
  for (int i = 0; i < 1000 && received.state == Transfer::State::active; ++i) job.step();
  EXPECT_EQ(received.state, Transfer::State::failed);
}

TEST(HealingMesh, APeerThatCannotBeConnectedWithAgainIsLost) {
  HealingWorld job(2);
  job.at(0).post(1, pattern(10, 1));
  while (job.world[1]->told.messages.empty()) job.step();
  job.end(1);
  job.connectors[0]->gone.push_back({1, Status(Code::unavailable, "nobody listens there")});
  job.world[0]->progress();
  ASSERT_EQ(job.world[0]->told.lost.size(), 1u);
  EXPECT_EQ(job.world[0]->told.lost[0].second.code(), Code::peer_lost);
  EXPECT_NE(job.world[0]->told.lost[0].second.message().find("nobody listens"), std::string::npos);
}

TEST(HealingMesh, APeerThatNobodyReachesIsLostAfterAWhile) {
  HealingWorld job(2);
  Recorder& told = job.world[0]->told;
  Time now;
  job.at(0).beat(now, told);
  job.at(0).post(1, pattern(10, 1));        // its call is never answered
  for (int i = 0; i < 9 && told.lost.empty(); ++i) {
    now = now + std::chrono::milliseconds(500);
    job.at(0).beat(now, told);
  }
  ASSERT_EQ(told.lost.size(), 1u);
  EXPECT_EQ(told.lost[0].first, 1);
}

TEST(HealingMesh, ABadFrameIsNotHealed) {
  HealingWorld job(2);
  job.at(0).post(1, pattern(10, 1));
  while (job.world[1]->told.messages.empty()) job.step();
  const int socket = job.connectors[0]->sockets.front();
  const auto garbage = pattern(200, 9);
  ASSERT_EQ(::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL), 200);
  for (int i = 0; i < 1000 && job.world[1]->told.lost.empty(); ++i) job.step();
  ASSERT_EQ(job.world[1]->told.lost.size(), 1u);
  EXPECT_EQ(job.world[1]->told.lost[0].second.code(), Code::corrupted);
}

}  // namespace
}  // namespace unisono::transport
