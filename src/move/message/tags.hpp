// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Names the messages of a collective: (set, bucket, phase, segment) in one Tag. Pure; thread: any.
// set: 16 bits. bucket: 32 bits, wrapping. phase, the stream within the collective: 4 bits.
// segment: 12 bits, wrapping; few segments of a stream are active together and a transport keeps
// the order of equal tags, so a repeated number is never ambiguous.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/request.hpp"
#include "move/collective.hpp"
#include "transport/transport.hpp"

namespace unisono::move::tags {

inline constexpr int kSegmentBits = 12;
inline constexpr std::uint32_t kSegmentMask = (1u << kSegmentBits) - 1;

inline std::uint16_t step_of(unsigned phase, std::size_t segment) {
  return static_cast<std::uint16_t>(((phase & 0xFu) << kSegmentBits) | (segment & kSegmentMask));
}

inline transport::Tag pack(SetId set, std::uint64_t bucket, std::uint16_t step) {
  return (static_cast<transport::Tag>(set & 0xFFFFu) << 48) | ((bucket & 0xFFFFFFFFull) << 16) |
         step;
}

// A message of a collective. Votes and other short ones hurry within long collectives, too.
inline transport::Label label_of(const MoveContext& context, std::uint16_t step,
                                 std::size_t bytes) {
  constexpr std::size_t kHurries = 16 << 10;
  return {pack(context.set, context.bucket, step), context.identity,
          !context.is_long || bytes <= kHurries};
}

}  // namespace unisono::move::tags
