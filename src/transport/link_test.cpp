// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/rng.hpp"

namespace unisono {
namespace {

// A one-way pipe that takes and gives `step` bytes at a time and can be tampered with.
struct Pipe {
  std::deque<std::byte> bytes;
  std::size_t step = SIZE_MAX;
  bool ended = false;
};

class PipeStream final : public Stream {
 public:
  PipeStream(Pipe* in, Pipe* out) : in_(in), out_(out) {}
  std::size_t write(std::span<const std::byte> bytes) override {
    const std::size_t n = std::min(bytes.size(), out_->step);
    out_->bytes.insert(out_->bytes.end(), bytes.begin(), bytes.begin() + static_cast<long>(n));
    return n;
  }
  std::size_t read(std::span<std::byte> bytes) override {
    const std::size_t n = std::min({bytes.size(), in_->step, in_->bytes.size()});
    std::copy_n(in_->bytes.begin(), n, bytes.begin());
    in_->bytes.erase(in_->bytes.begin(), in_->bytes.begin() + static_cast<long>(n));
    return n;
  }
  Status health() override { return in_->ended ? Status(Code::peer_lost, "end") : Status{}; }
  bool ready(bool) const override { return !in_->bytes.empty(); }
  void want_write(bool) override {}
  void finish_writing() override { out_->ended = true; }

 private:
  Pipe *in_, *out_;
};

class Sink final : public FrameSink {
 public:
  Result<std::byte*> place(const FrameHeader& header) override {
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
};

constexpr std::uint64_t kSeed = 0xfeed;
const std::vector<std::byte> kPayload(37, std::byte{0x5a});

Link link_over(Pipe& in, Pipe& out, LaneKind lane = LaneKind::control) {
  return Link(std::make_unique<PipeStream>(&in, &out), lane, 1, kSeed);
}
Link::Pumped feed(Pipe& wire, Sink& sink, LaneKind lane = LaneKind::control) {
  Pipe nowhere;
  return link_over(wire, nowhere, lane).pump(sink);
}
Pipe frame_on_wire(std::span<const std::byte> payload) {
  Pipe wire, nowhere;
  link_over(nowhere, wire).send(FrameKind::message, 0, payload, nullptr);
  return wire;
}

TEST(Link, FramesSurviveAnyStepOfReadingAndWriting) {
  for (std::size_t step : {1u, 7u, 48u, 49u, 1000u}) {
    Pipe wire, nowhere;
    wire.step = step;
    Link sender = link_over(nowhere, wire), receiver = link_over(wire, nowhere);
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

TEST(Link, NoFrameWithAFlippedBitIsDelivered) {
  const Pipe intact = frame_on_wire(kPayload);
  for (std::size_t bit = 0; bit < intact.bytes.size() * 8; ++bit) {
    Pipe wire = intact;
    wire.bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    Sink sink;
    EXPECT_EQ(feed(wire, sink).why.code(), Code::corrupted) << "bit " << bit;
    EXPECT_EQ(sink.delivered, 0) << "bit " << bit;
  }
}

TEST(Link, RefusesRepeatedDroppedAndForeignFrames) {
  Pipe wire, nowhere;
  Link sender = link_over(nowhere, wire);
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

TEST(Link, RefusesAnotherEpochByName) {
  Pipe wire, nowhere;
  Link(std::make_unique<PipeStream>(&nowhere, &wire), LaneKind::control, 2, kSeed)
      .send(FrameKind::beat, 0, {}, nullptr);
  Sink sink;
  EXPECT_EQ(feed(wire, sink).why.message(), "a frame of epoch 2 in epoch 1");
}

TEST(Link, EndInTheMiddleOfAFrameDeliversNothing) {
  Pipe wire = frame_on_wire(kPayload);
  wire.bytes.pop_back();
  wire.ended = true;
  Sink sink;
  const auto pumped = feed(wire, sink);
  EXPECT_TRUE(pumped.ended);
  EXPECT_EQ(sink.delivered, 0);
}

TEST(Link, RandomBytesNeverDeliverOrCrash) {
  Rng rng(2026);
  for (int round = 0; round < 20000; ++round) {
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

TEST(Link, ValidHeadersWithImpossibleContentsAreRefused) {
  const LaneTerms terms{LaneKind::control, 1, kSeed, true};
  for (const auto kind : {FrameKind::data, static_cast<FrameKind>(0), static_cast<FrameKind>(99)}) {
    EXPECT_EQ(check_header(terms, make_header(terms, kind, 0, 0, {}), 0).code(), Code::corrupted);
  }
  std::vector<std::byte> something(1);
  const auto beat = make_header(terms, FrameKind::beat, 0, 0, something);
  EXPECT_EQ(check_header(terms, beat, 0).code(), Code::corrupted);
  LaneTerms unchecked = terms;
  unchecked.check_payload = false;
  const auto bare = make_header(unchecked, FrameKind::message, 0, 0, something);
  EXPECT_EQ(check_header(terms, bare, 0).code(), Code::corrupted);
  EXPECT_TRUE(check_header(unchecked, bare, 0).ok());
}

}  // namespace
}  // namespace unisono
