// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/link.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <utility>

#include "base/testing/effort.hpp"
#include "base/data/rng.hpp"
#include "transport/testing/pipe_stream.hpp"

namespace unisono::transport {
namespace {

class Sink final : public FrameSink {
 public:
  Result<std::byte*> place(const FrameHeader& header) override {
    if (std::exchange(without_memory, false)) throw std::bad_alloc();
    buffer.resize(static_cast<std::size_t>(header.length));
    return buffer.data();
  }
  void deliver(LaneKind, const FrameHeader& header) override {
    ++delivered;
    kind = header.kind;
  }
  std::vector<std::byte> buffer;
  FrameKind kind{};
  int delivered = 0;
  bool without_memory = false;              // once
};

const std::vector<std::byte> kPayload(37, std::byte{0x5a});

// What the two ends of a lane share: one's `out` is the other's `in`.
LaneSecret secret_of(SealKind kind, int side, unsigned char mark = 1) {
  LaneSecret secret{kind, {}, {}};
  secret.out.fill(static_cast<unsigned char>(mark + side));
  secret.in.fill(static_cast<unsigned char>(mark + 1 - side));
  return secret;
}

class Frames : public testing::TestWithParam<std::pair<const char*, SealKind>> {
 protected:
  // The sender is side 0 of the lane, the receiver side 1.
  Link link_over(Pipe& in, Pipe& out, int side, LaneKind lane = LaneKind::control) {
    return Link(std::make_unique<PipeStream>(&in, &out), lane, 1,
                secret_of(GetParam().second, side));
  }
  Link::Pumped feed(Pipe& wire, Sink& sink, LaneKind lane = LaneKind::control, int side = 1) {
    Pipe nowhere;
    return link_over(wire, nowhere, side, lane).pump(sink);
  }
  Pipe frame_on_wire(std::span<const std::byte> payload) {
    Pipe wire, nowhere;
    link_over(nowhere, wire, 0).send(FrameKind::message, 0, payload, nullptr);
    return wire;
  }
};

TEST_P(Frames, FramesSurviveAnyStepOfReadingAndWriting) {
  for (std::size_t step : {1u, 7u, 56u, 57u, 93u, 108u, 1000u}) {
    Pipe wire, nowhere;
    wire.step = step;
    Link sender = link_over(nowhere, wire, 0), receiver = link_over(wire, nowhere, 1);
    Sink sink;
    for (int i = 0; i < 5; ++i) sender.send(FrameKind::message, 0, kPayload, nullptr);
    while (sender.flush()) {
    }
    EXPECT_TRUE(sender.idle());
    EXPECT_TRUE(receiver.pump(sink).why.ok());
    EXPECT_EQ(sink.delivered, 5);
    EXPECT_EQ(sink.buffer, kPayload);
  }
}

TEST_P(Frames, APayloadThatFoundNoMemoryArrivesOnTheNextTry) {
  for (std::size_t step : {1u, 57u, 1000u}) {
    Pipe wire, nowhere;
    wire.step = step;
    Link sender = link_over(nowhere, wire, 0), receiver = link_over(wire, nowhere, 1);
    for (int i = 0; i < 3; ++i) sender.send(FrameKind::message, 0, kPayload, nullptr);
    while (sender.flush()) {
    }
    Sink sink;
    for (int i = 1; i <= 3; ++i) {
      sink.without_memory = true;
      EXPECT_THROW((void)receiver.pump(sink), std::bad_alloc);
      EXPECT_TRUE(receiver.ready());
    }
    EXPECT_TRUE(receiver.pump(sink).why.ok());
    EXPECT_EQ(sink.delivered, 3);
    EXPECT_EQ(sink.buffer, kPayload);
  }
}

TEST_P(Frames, NoFrameWithAFlippedBitIsDelivered) {
  const Pipe intact = frame_on_wire(kPayload);
  for (std::size_t bit = 0; bit < intact.bytes.size() * 8; ++bit) {
    Pipe wire = intact;
    wire.bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    Sink sink;
    EXPECT_EQ(feed(wire, sink).why.code(), Code::corrupted) << "bit " << bit;
    EXPECT_EQ(sink.delivered, 0) << "bit " << bit;
  }
}

TEST_P(Frames, RefusesRepeatedDroppedAndForeignFrames) {
  Pipe wire, nowhere;
  Link sender = link_over(nowhere, wire, 0);
  sender.send(FrameKind::message, 0, kPayload, nullptr);
  const Pipe first = wire;
  sender.send(FrameKind::message, 0, kPayload, nullptr);
  const auto half = static_cast<long>(first.bytes.size());

  Sink repeated, dropped, other_lane;
  Pipe twice = first;
  twice.bytes.insert(twice.bytes.end(), first.bytes.begin(), first.bytes.end());
  EXPECT_EQ(feed(twice, repeated).why.code(), Code::corrupted);
  EXPECT_EQ(repeated.delivered, 1);
  Pipe second;
  second.bytes.assign(wire.bytes.begin() + half, wire.bytes.end());
  EXPECT_EQ(feed(second, dropped).why.code(), Code::corrupted);
  EXPECT_EQ(dropped.delivered, 0);
  Pipe copy = first;
  EXPECT_EQ(feed(copy, other_lane, LaneKind::data).why.code(), Code::corrupted);
}

TEST_P(Frames, RefusesAnotherEpochByName) {
  Pipe wire, nowhere;
  Link(std::make_unique<PipeStream>(&nowhere, &wire), LaneKind::control, 2,
       secret_of(GetParam().second, 0))
      .send(FrameKind::beat, 0, {}, nullptr);
  Sink sink;
  EXPECT_EQ(feed(wire, sink).why.message(), "a frame of epoch 2 in epoch 1");
}

TEST_P(Frames, EndInTheMiddleOfAFrameDeliversNothing) {
  Pipe wire = frame_on_wire(kPayload);
  wire.bytes.pop_back();
  wire.ended = true;
  Sink sink;
  const auto pumped = feed(wire, sink);
  EXPECT_TRUE(pumped.ended);
  EXPECT_EQ(sink.delivered, 0);
}

TEST_P(Frames, RandomBytesNeverDeliverOrCrash) {
  Rng rng(2026);
  const int rounds = short_of_time() ? 4000 : 20000;
  for (int round = 0; round < rounds; ++round) {
    Pipe wire = round % 2 == 0 ? Pipe{} : frame_on_wire(kPayload);
    const std::size_t extra = rng.below(200);
    for (std::size_t i = 0; i < extra; ++i) wire.bytes.push_back(static_cast<std::byte>(rng()));
    if (!wire.bytes.empty() && rng.below(2) == 0) {
      for (int i = 0; i < 4; ++i) {
        wire.bytes[rng.below(wire.bytes.size())] = static_cast<std::byte>(rng());
      }
    }
    wire.step = 1 + rng.below(64);
    wire.ended = rng.below(2) == 0;
    Sink sink;
    const auto pumped = feed(wire, sink, static_cast<LaneKind>(rng.below(2)));
    EXPECT_LE(sink.delivered, 1);
    if (sink.delivered == 1) {
      EXPECT_EQ(sink.buffer, kPayload);
    }
  }
}

TEST_P(Frames, ValidHeadersWithImpossibleContentsAreRefused) {
  const LaneTerms terms{LaneKind::control, 1, true};
  const LaneSecret secret = secret_of(GetParam().second, 0);
  const auto seal = FrameSeal::make(secret.kind, secret.out);
  const auto code_of = [&](FrameHeader header, const LaneTerms& at) {
    seal_header(*seal, header);
    return check_header(at, *seal, header, 0).code();
  };
  for (const auto kind : {FrameKind::data, static_cast<FrameKind>(0), static_cast<FrameKind>(99)}) {
    EXPECT_EQ(code_of(make_header(terms, kind, 0, 0, 0), terms), Code::corrupted);
  }
  EXPECT_EQ(code_of(make_header(terms, FrameKind::beat, 0, 0, 1), terms), Code::corrupted);
  LaneTerms unchecked = terms;
  unchecked.check_payload = false;
  const auto bare = make_header(unchecked, FrameKind::message, 0, 0, 1);
  EXPECT_EQ(code_of(bare, terms), Code::corrupted);
  EXPECT_EQ(code_of(bare, unchecked), Code::ok);
}

TEST_P(Frames, LongPayloadsPassInPiecesAndAFlippedBitOfAnyPieceFails) {
  std::vector<std::byte> big(700'001);
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<std::byte>(i * 7);
  for (const std::size_t flip : {SIZE_MAX, std::size_t{0}, std::size_t{262'144}, big.size() - 1}) {
    Pipe wire, nowhere;
    Link sender = link_over(nowhere, wire, 0, LaneKind::data);
    Transfer sent;
    sender.send(FrameKind::data, 4, big, &sent);
    ASSERT_TRUE(sent.done());
    if (flip != SIZE_MAX) wire.bytes[kFrameHeaderBytes + flip] ^= std::byte{1};
    wire.step = 10'007;
    Sink sink;
    const auto pumped = feed(wire, sink, LaneKind::data);
    EXPECT_EQ(sink.delivered, flip == SIZE_MAX ? 1 : 0);
    EXPECT_EQ(pumped.why.code(), flip == SIZE_MAX ? Code::ok : Code::corrupted);
    if (flip == SIZE_MAX) {
      EXPECT_EQ(sink.buffer, big);
    }
  }
}

TEST_P(Frames, ReorderedFramesAreRefused) {
  Pipe wire, nowhere;
  Link sender = link_over(nowhere, wire, 0);
  sender.send(FrameKind::message, 0, kPayload, nullptr);
  const auto half = static_cast<long>(wire.bytes.size());
  sender.send(FrameKind::message, 0, kPayload, nullptr);
  Pipe swapped;
  swapped.bytes.assign(wire.bytes.begin() + half, wire.bytes.end());
  swapped.bytes.insert(swapped.bytes.end(), wire.bytes.begin(), wire.bytes.begin() + half);
  Sink sink;
  EXPECT_EQ(feed(swapped, sink).why.code(), Code::corrupted);
  EXPECT_EQ(sink.delivered, 0);
}

// What a rank sent comes back to it, on the same connection.
TEST_P(Frames, ReflectedFramesAreRefused) {
  Pipe wire = frame_on_wire(kPayload);
  Sink sink;
  EXPECT_EQ(feed(wire, sink, LaneKind::control, 0).why.code(), Code::corrupted);
  EXPECT_EQ(sink.delivered, 0);
}

// The payload of one frame is put behind the header of another; both are genuine.
TEST_P(Frames, PayloadsCannotChangePlaces) {
  Pipe wire, nowhere;
  Link sender = link_over(nowhere, wire, 0);
  const std::vector<std::byte> other(kPayload.size(), std::byte{0x11});
  sender.send(FrameKind::message, 0, kPayload, nullptr);
  const auto half = static_cast<long>(wire.bytes.size());
  sender.send(FrameKind::message, 0, other, nullptr);
  Pipe mixed;
  const auto header = static_cast<long>(kFrameHeaderBytes);
  mixed.bytes.assign(wire.bytes.begin(), wire.bytes.begin() + header);
  mixed.bytes.insert(mixed.bytes.end(), wire.bytes.begin() + half + header, wire.bytes.end());
  Sink sink;
  EXPECT_EQ(feed(mixed, sink).why.code(), Code::corrupted);
  EXPECT_EQ(sink.delivered, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Seals, Frames,
    testing::Values(std::pair{"plain", SealKind::hash}, std::pair{"aes", SealKind::aes_256_gcm},
                    std::pair{"chacha", SealKind::chacha20_poly1305},
                    std::pair{"aes_encrypted", SealKind::aes_256_gcm_encrypted},
                    std::pair{"chacha_encrypted", SealKind::chacha20_poly1305_encrypted}),
    [](const auto& which) { return which.param.first; });

// A heartbeat has no payload and fields that anybody can guess. Whoever sees it, and knows this
// source code, must not be able to make the next frame.
TEST(Authenticated, AnObservedHeartbeatGivesNothingAway) {
  for (const SealKind kind : {SealKind::aes_256_gcm, SealKind::chacha20_poly1305}) {
    Pipe wire, nowhere;
    Link victim(std::make_unique<PipeStream>(&nowhere, &wire), LaneKind::control, 1,
                secret_of(kind, 0, 77));
    victim.send(FrameKind::beat, 0, {}, nullptr);
    FrameHeader seen;
    std::vector<std::byte> observed(wire.bytes.begin(), wire.bytes.end());
    std::memcpy(&seen, observed.data(), sizeof seen);

    const LaneTerms terms{LaneKind::control, 1, true};
    std::vector<FrameHeader> forged;
    FrameHeader next = make_header(terms, FrameKind::beat, 1, 0, 0);
    next.check = seen.check;
    forged.push_back(next);                                     // the old check again
    next.check = {};
    forged.push_back(next);                                     // no check
    SealKey guess{};
    forged.push_back(next);
    seal_header(*FrameSeal::make(kind, guess), forged.back());  // the right MAC, a key of zeroes
    std::memcpy(guess.data(), seen.check.data(), kCheckBytes);
    for (const SealKind any : {SealKind::hash, kind}) {         // the observed check as the key
      forged.push_back(next);
      seal_header(*FrameSeal::make(any, guess), forged.back());
    }
    // A hash can be inverted when all of its input is known; this is what that would give.
    forged.push_back(next);
    for (std::size_t i = 0; i < kCheckBytes; ++i) {
      const auto old = std::as_bytes(std::span(&seen, 1)),
                 made = std::as_bytes(std::span(&next, 1));
      forged.back().check[i] = seen.check[i] ^ old[8 + i] ^ made[8 + i];
    }
    for (const FrameHeader& header : forged) {
      Pipe attack;
      attack.bytes.assign(observed.begin(), observed.end());
      const auto bytes = std::as_bytes(std::span(&header, 1));
      attack.bytes.insert(attack.bytes.end(), bytes.begin(), bytes.end());
      Sink sink;
      Link receiver(std::make_unique<PipeStream>(&attack, &nowhere), LaneKind::control, 1,
                    secret_of(kind, 1, 77));
      EXPECT_EQ(receiver.pump(sink).why.code(), Code::corrupted);
      EXPECT_EQ(sink.delivered, 1) << "the genuine heartbeat alone";
    }
  }
}

TEST(Authenticated, FramesOfAnotherConnectionAreRefused) {
  for (const SealKind kind : {SealKind::aes_256_gcm, SealKind::chacha20_poly1305}) {
    Pipe wire, nowhere;
    Link(std::make_unique<PipeStream>(&nowhere, &wire), LaneKind::control, 1, secret_of(kind, 0, 3))
        .send(FrameKind::message, 0, kPayload, nullptr);
    Sink sink;
    Link receiver(std::make_unique<PipeStream>(&wire, &nowhere), LaneKind::control, 1,
                  secret_of(kind, 1, 9));
    EXPECT_EQ(receiver.pump(sink).why.code(), Code::corrupted);
    EXPECT_EQ(sink.delivered, 0);
  }
}

}  // namespace
}  // namespace unisono::transport
