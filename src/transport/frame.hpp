// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What travels on a stream: a fixed header, then its payload. Little-endian, 56 bytes.
//
// The header's check is seeded with the lane's secret and the number of the frame, so a header that
// is damaged, repeated, dropped or from another lane is refused before its length is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "transport/transport.hpp"
#include "unisono/status.hpp"

namespace unisono {

// Numbers are part of the wire format.
enum class FrameKind : std::uint8_t {
  message = 1,   // control lane: a whole control message
  data = 2,      // data lane: a whole transfer
  beat = 3,      // control lane: nothing to say, still alive
  goodbye = 4,   // both lanes: the last frame of a rank that leaves, but for a farewell
  farewell = 5,  // control lane: both goodbyes and all before them have arrived
  complaint = 6, // control lane: why the sender ends the link, which comes next
};

enum class LaneKind : std::uint8_t { control = 0, data = 1 };

struct FrameHeader {
  static constexpr std::uint16_t kMagic = 0x6e55;
  static constexpr std::uint8_t kPayloadChecked = 1;

  std::uint16_t magic = kMagic;
  FrameKind kind = FrameKind::message;
  std::uint8_t flags = 0;
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t tag = 0;
  std::uint64_t identity = 0;
  std::uint64_t length = 0;
  std::uint64_t payload_check = 0;
  std::uint64_t header_check = 0;
};
inline constexpr std::size_t kFrameHeaderBytes = 56;
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);

inline constexpr std::uint64_t kMessageBytesMax = 16 << 20;
inline constexpr std::uint64_t kComplaintBytesMax = 2 << 10;
inline constexpr std::uint64_t kDataBytesMax = std::uint64_t{1} << 40;

// What both ends of a lane know beforehand.
struct LaneTerms {
  LaneKind lane = LaneKind::control;
  std::uint32_t epoch = 1;
  std::uint64_t seed = 0;
  bool check_payload = true;
};

FrameHeader make_header(const LaneTerms& terms, FrameKind kind, std::uint64_t sequence,
                        Label label, std::span<const std::byte> payload);
// corrupted, with what is wrong, unless this is the frame that must come next on the lane.
Status check_header(const LaneTerms& terms, const FrameHeader& header, std::uint64_t sequence);
// Whether frames of this kind may have a payload.
bool carries_payload(FrameKind kind);
Status check_payload(const LaneTerms& terms, const FrameHeader& header,
                     std::span<const std::byte> payload);

}  // namespace unisono
