// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A run of bytes to or from one member, cut into segments of which a few travel at a time.
// Thread: the one that drives the engine. Stays at its address while transfers are open.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "move/message/machine.hpp"

namespace unisono::move {

inline constexpr std::size_t kSegmentBytes = 256 << 10;  // a multiple of every element size
inline constexpr std::size_t kWindow = 4;                // open segments of a stream

// Which part of the collective a stream belongs to; two streams with the same member and direction
// must differ in phase.
enum class Phase : std::uint8_t { scatter = 0, gather = 1, fold = 2, unfold = 3, round = 4 };

class SegmentStream {
 public:
  SegmentStream(const MoveContext& context, int member, Phase phase, unsigned round = 0);
  SegmentStream(const SegmentStream&) = delete;
  SegmentStream& operator=(const SegmentStream&) = delete;

  // Call once, before the first advance. segment_bytes 0 sends everything as one segment.
  void send_from(std::span<const std::byte> bytes, std::size_t segment_bytes = kSegmentBytes);
  void receive_into(std::span<std::byte> bytes, std::size_t segment_bytes = kSegmentBytes);
  // Receives total_bytes through kWindow slots of kSegmentBytes: segment s lands in slot
  // s % kWindow, and the caller's limit keeps it from being overwritten too early.
  void receive_through(std::byte* slots, std::size_t total_bytes);

  // Opens segments below limit while the window allows, and closes those that are done, in order.
  void advance(std::size_t limit, Pass& pass);
  void advance(Pass& pass) { advance(segments_, pass); }

  std::size_t segments() const { return segments_; }
  std::size_t done() const { return done_; }  // segments 0 .. done()-1 have travelled
  bool finished() const { return done_ == segments_; }
  void add_pending(OpenTransfer& pending) const;

 private:
  void open(std::size_t segment);

  const MoveContext* context_;
  const Rank peer_;
  const unsigned phase_;
  const std::byte* source_ = nullptr;
  std::byte* target_ = nullptr;
  std::size_t total_ = 0, segment_bytes_ = kSegmentBytes, segments_ = 0;
  std::size_t slots_ = 0;  // 0: segments lie back to back in target_
  std::size_t opened_ = 0, done_ = 0;
  std::array<transport::Transfer, kWindow> transfers_;
};

}  // namespace unisono::move
