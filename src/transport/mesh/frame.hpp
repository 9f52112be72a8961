// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What is sent on a stream: a fixed header of 56 bytes, little-endian; its payload; and, on streams
// that do not keep bytes as they are, the check of the payload.
//
// The header has a check of its own, so that a frame that is damaged, repeated, missing, from
// another lane or made by a stranger is noticed before its length is used. The payload's check
// comes last, so that the sender can compute it while it sends; a payload that has not passed is
// never delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/data/bytes.hpp"
#include "transport/mesh/frame_seal.hpp"
#include "transport/transport.hpp"
#include "unisono/status.hpp"

namespace unisono::transport {

// Numbers are part of the wire format.
enum class FrameKind : std::uint8_t {
  message = 1,   // control lane: a whole control message
  data = 2,      // data lane: a whole transfer
  beat = 3,      // control lane: still alive; so many frames (tag) of a lane (identity: its number)
                 // have arrived, and the sender need not keep them
  goodbye = 4,   // every lane: the last frame of a rank that leaves, except a goodbye_ack
  goodbye_ack = 5,  // control lane: all goodbyes and all before them have arrived
  complaint = 6, // control lane: why the sender is about to end the link
  resume = 7,    // every lane, first frame of a new stream in place of another: how many frames have
                 // arrived (tag)
};

enum class LaneKind : std::uint8_t { control = 0, data = 1 };

// Over TCP data may share several connections.
inline constexpr std::size_t kStripesMax = 8;

// The lanes of a peer are numbered: 0 is control, the others are stripes, which share the data.
struct LaneId {
  std::uint8_t number = 0;

  static constexpr LaneId control() { return {0}; }
  static constexpr LaneId of_stripe(std::size_t stripe) {
    return {static_cast<std::uint8_t>(stripe + 1)};
  }
  constexpr bool is_control() const { return number == 0; }
  constexpr std::size_t stripe() const { return number - std::size_t{1}; }
  friend constexpr bool operator==(LaneId, LaneId) = default;
};

struct FrameHeader {
  static constexpr std::uint16_t kMagic = 0x6e55;
  static constexpr std::uint8_t kPayloadChecked = 1, kPayloadEncrypted = 2;

  std::uint16_t magic = kMagic;
  FrameKind kind = FrameKind::message;
  std::uint8_t flags = 0;
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t tag = 0;
  std::uint64_t identity = 0;
  std::uint64_t length = 0;
  FrameCheck check{};  // of all fields above
};
inline constexpr std::size_t kFrameHeaderBytes = 56;
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);

// The number of a resume frame, which is not one of the lane's frames.
inline constexpr std::uint64_t kResumeSequence = std::uint64_t{1} << 63;

inline constexpr std::uint64_t kMessageBytesMax = 16 << 20;
inline constexpr std::uint64_t kComplaintBytesMax = 2 << 10;
inline constexpr std::uint64_t kDataBytesMax = std::uint64_t{1} << 40;

// What both ends of a lane know beforehand.
struct LaneTerms {
  LaneKind lane = LaneKind::control;
  std::uint32_t epoch = 1;
  bool check_payload = true;
  bool encrypt_payload = false;

  std::uint8_t flags() const {
    return static_cast<std::uint8_t>((check_payload ? FrameHeader::kPayloadChecked : 0) |
                                     (encrypt_payload ? FrameHeader::kPayloadEncrypted : 0));
  }
};

// Returns a header without its check.
FrameHeader make_header(const LaneTerms& terms, FrameKind kind, std::uint64_t sequence,
                        Label label, std::size_t length);
void seal_header(FrameSeal& seal, FrameHeader& header);
// Returns corrupted, with what is wrong, unless this is the frame that must come next on the lane.
Status check_header(const LaneTerms& terms, FrameSeal& seal, const FrameHeader& header,
                    std::uint64_t sequence);
// How many bytes follow the payload.
std::size_t trailer_bytes(const LaneTerms& terms, std::uint64_t length);
// Whether frames of this kind may have a payload.
bool carries_payload(FrameKind kind);

}  // namespace unisono::transport
