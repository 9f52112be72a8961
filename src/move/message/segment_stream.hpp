// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Segments to or from one member, of which a few travel at a time.
// Thread: the one that drives the engine. Stays at its address while transfers are open.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "move/message/machine.hpp"
#include "move/message/segments.hpp"

namespace unisono::move {

inline constexpr std::size_t kWindow = 4;                // open segments of a stream

// Which part of the collective a stream belongs to; two streams with the same member and direction
// must differ in phase.
enum class Phase : std::uint8_t {
  scatter = 0,
  gather = 1,
  fold = 2,
  unfold = 3,
  round = 4,
  vote = 15
};

class SegmentStream {
 public:
  SegmentStream(const MoveContext& context, int member, Phase phase, unsigned round = 0);
  SegmentStream(const SegmentStream&) = delete;
  SegmentStream& operator=(const SegmentStream&) = delete;

  // Call one of these once, before the first advance. segment_bytes 0 sends everything as one
  // segment.
  void send_from(std::span<const std::byte> bytes, std::size_t segment_bytes = kSegmentBytes);
  void receive_into(std::span<std::byte> bytes, std::size_t segment_bytes = kSegmentBytes);
  // The same with segments that lie anywhere; the list outlives the stream.
  void send_inputs(std::span<const Segment> segments);
  void send_outputs(std::span<const Segment> segments);
  void receive_outputs(std::span<const Segment> segments);
  // Receives segments of these lengths through kWindow slots of slot_bytes, or fewer when there are
  // fewer segments: segment s lands in slot s % kWindow, and the caller's limit keeps it from being
  // overwritten too early.
  void receive_through(std::byte* slots, std::size_t slot_bytes,
                       std::span<const Segment> segments);

  // Opens segments below limit while the window allows, and closes those that are done, in order.
  void advance(std::size_t limit, Pass& pass);
  void advance(Pass& pass) { advance(segments_, pass); }

  std::size_t segments() const { return segments_; }
  std::size_t done() const { return done_; }  // segments 0 .. done()-1 have travelled
  bool finished() const { return done_ == segments_; }
  void add_pending(OpenTransfer& pending) const;
  // The memory is the caller's again; the stream is not advanced any more.
  void abandon();

 private:
  enum class Way : std::uint8_t { bytes_out, bytes_in, inputs_out, outputs_out, outputs_in, slots_in };
  bool sends() const {
    return way_ == Way::bytes_out || way_ == Way::inputs_out || way_ == Way::outputs_out;
  }
  void use(std::span<const Segment> list, Way way);
  void open(std::size_t segment);
  std::span<const std::byte> source(std::size_t segment) const;
  std::span<std::byte> target(std::size_t segment) const;

  const MoveContext* context_;
  const Rank peer_;
  const unsigned phase_;
  Way way_ = Way::bytes_out;
  std::span<const std::byte> source_;       // bytes_out
  std::span<std::byte> target_;             // bytes_in; slots_in: the slots
  std::span<const Segment> list_;           // the others
  std::size_t segment_bytes_ = kSegmentBytes, segments_ = 0;  // slots_in: the bytes of a slot
  std::size_t opened_ = 0, done_ = 0;
  std::array<transport::Transfer, kWindow> transfers_;
};

}  // namespace unisono::move
