// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Names the messages of a collective: (set, bucket, phase, length, segment) in one Tag. Pure; thread:
// any.
// set: 16 bits. bucket: 32 bits, wrapping. phase, the stream within the collective: 4 bits. length: 1
// bit, transport::kShortTag where the whole stream is short, which both ends know. segment: 11 bits,
// wrapping; few segments of a stream are active together and a transport keeps the order of equal
// tags, so a repeated number is never ambiguous.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/request.hpp"
#include "transport/transport.hpp"

namespace unisono::move::tags {

inline constexpr int kSegmentBits = 11;
inline constexpr std::uint32_t kSegmentMask = (1u << kSegmentBits) - 1;
static_assert(transport::kShortTag == 1u << kSegmentBits);

inline std::uint16_t step_of(unsigned phase, std::uint16_t length, std::size_t segment) {
  return static_cast<std::uint16_t>(((phase & 0xFu) << (kSegmentBits + 1)) | length |
                                    (segment & kSegmentMask));
}

inline transport::Tag pack(SetId set, std::uint64_t bucket, std::uint16_t step) {
  return (static_cast<transport::Tag>(set & 0xFFFFu) << 48) | ((bucket & 0xFFFFFFFFull) << 16) |
         step;
}

}  // namespace unisono::move::tags
