// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor that a codec sends, and what becomes of the others. Thread: as the
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encode/feedback/feedback.hpp"
#include "encode/packet/packet.hpp"
#include "encode/packet/source.hpp"
#include "unisono/codec.hpp"

namespace unisono::encode {

struct Picks {
  std::vector<std::uint32_t> indices;       // increasing
  std::vector<float> values;                // as they are sent: rounded to the codec's form
  std::vector<std::byte> packed;            // the same in that form
  std::uint32_t k = 0;                      // of each bucket; 0 where there are none
};

// How many elements of each bucket, or of all `count` where there are no buckets, are picked in a
// step. More than the codec says while its density is warming up.
std::size_t picks_at(const CodecSpec& spec, std::size_t count, std::uint32_t step);

// The source has elements, all numbers. What is not sent stays in the memory; without feedback it
// is lost.
void pick_elements(const CodecSpec& spec, const Source& source, TensorMemory& memory, Picks& out);

}  // namespace unisono::encode
