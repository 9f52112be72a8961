// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Frames recorded on the wire, with their keys: this build must read what an earlier one sent, and
// must send the same bytes. A change here is a change of the protocol's version.
// UNISONO_RECORD=1 prints the frames of this build in the form of recorded_frames.hpp.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "transport/mesh/link.hpp"
#include "transport/testing/pipe_stream.hpp"
#include "transport/testing/recorded_frames.hpp"

namespace unisono::transport {
namespace {

struct Sink final : FrameSink {
  Result<std::byte*> place(const FrameHeader& header) override {
    payload.resize(static_cast<std::size_t>(header.length));
    return payload.data();
  }
  void deliver(LaneKind, const FrameHeader& header) override {
    kinds.push_back(static_cast<int>(header.kind));
    payloads.push_back(header.length == 0 ? std::vector<std::byte>{} : payload);
  }
  std::vector<std::byte> payload;
  std::vector<std::vector<std::byte>> payloads;
  std::vector<int> kinds;
};

// Side 0 sent, side 1 reads: one's `out` is the other's `in`.
Link link_of(Pipe& wire, LaneKind lane, SealKind seal, int side) {
  LaneSecret secret{seal, {}, {}};
  for (std::size_t i = 0; i < secret.out.size(); ++i) {
    (side == 0 ? secret.out : secret.in)[i] = static_cast<unsigned char>(3 * i + 1);
    (side == 0 ? secret.in : secret.out)[i] = static_cast<unsigned char>(5 * i + 2);
  }
  return Link(std::make_unique<PipeStream>(&wire, &wire), lane, 4, secret);
}

std::vector<std::byte> payload_of(std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = std::byte(static_cast<unsigned char>(7 * i));
  return payload;
}

std::string hex(const Pipe& wire) {
  std::string text;
  for (const std::byte byte : wire.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(byte));
    text += digits;
  }
  return text;
}

std::string sent_today(LaneKind lane, SealKind seal) {
  Pipe wire;
  Link link = link_of(wire, lane, seal, 0);
  if (lane == LaneKind::control) {
    link.send(FrameKind::message, 0, payload_of(21), nullptr);
    link.send(FrameKind::beat, 0, {}, nullptr);
    link.send(FrameKind::complaint, 0, payload_of(9), nullptr);
  } else {
    link.send(FrameKind::data, Label{0x0102030405060708, 0x0000a1b2c3d4e5f6}, payload_of(40),
              nullptr);
    link.send(FrameKind::data, Label{9, 0}, {}, nullptr);
  }
  link.send(FrameKind::goodbye, 0, {}, nullptr);
  return hex(wire);
}

Pipe from_hex(std::string_view text) {
  Pipe wire;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    wire.bytes.push_back(std::byte(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return wire;
}

class RecordedFrames : public testing::TestWithParam<RecordedLane> {};
INSTANTIATE_TEST_SUITE_P(All, RecordedFrames, testing::ValuesIn(kRecordedLanes));

TEST_P(RecordedFrames, AreSentWithTheSameBytesToday) {
  const RecordedLane& recorded = GetParam();
  const std::string today = sent_today(recorded.lane, recorded.seal);
  if (std::getenv("UNISONO_RECORD") != nullptr) std::puts(today.c_str());
  EXPECT_EQ(today, recorded.hex);
}

TEST_P(RecordedFrames, AreReadToday) {
  const RecordedLane& recorded = GetParam();
  Pipe wire = from_hex(recorded.hex);
  Link link = link_of(wire, recorded.lane, recorded.seal, 1);
  Sink sink;
  for (bool on = true; on;) {
    const auto pumped = link.pump(sink);
    ASSERT_TRUE(pumped.why.ok()) << pumped.why.message();
    on = pumped.moved && !pumped.ended;
  }
  const bool control = recorded.lane == LaneKind::control;
  EXPECT_EQ(sink.kinds, (control ? std::vector{1, 3, 6, 4} : std::vector{2, 2, 4}));
  ASSERT_FALSE(sink.payloads.empty());
  EXPECT_EQ(sink.payloads.front(), payload_of(control ? 21 : 40));
}

}  // namespace
}  // namespace unisono::transport
