// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How many bytes a sparse stream takes in each form, and which form it takes. stream/ writes and
// move/ sends what is computed here, and cost/ predicts by it, so that none of them can differ.
// Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unisono {

// How the elements of a segment that are there are told apart from those that are not. Numbers are
// part of the wire format.
enum class StreamFormat : std::uint8_t {
  pairs = 0,                                // an index for each
  blocks = 1,                               // how many of each 65,536, and 16 bits for each
  bitmap = 2,                               // a bit for every element
  dense = 3,                                // all are there
};
inline constexpr int kStreamFormatCount = 4;

inline constexpr std::size_t kStreamHeaderBytes = 48;
inline constexpr std::uint64_t kStreamBlock = 65'536;
// Longer ones are refused, so that no size that follows from a length overflows.
inline constexpr std::uint64_t kStreamLengthMax = std::uint64_t{1} << 48;

constexpr std::uint64_t stream_index_bytes(std::uint64_t length) {
  return length > (std::uint64_t{1} << 32) ? 8 : 4;
}

// What precedes the values.
constexpr std::uint64_t stream_support_bytes(StreamFormat format, std::uint64_t length,
                                             std::uint64_t nnz) {
  switch (format) {
    case StreamFormat::pairs: return nnz * stream_index_bytes(length);
    case StreamFormat::blocks: return (length + kStreamBlock - 1) / kStreamBlock * 4 + nnz * 2;
    case StreamFormat::bitmap: return (length + 63) / 64 * 8;
    case StreamFormat::dense: break;
  }
  return 0;
}

constexpr std::uint64_t stream_payload_bytes(StreamFormat format, std::uint64_t length,
                                             std::uint64_t nnz, std::uint64_t value_bytes) {
  const std::uint64_t values = format == StreamFormat::dense ? length : nnz;
  return stream_support_bytes(format, length, nnz) + values * value_bytes;
}

// The form with the fewest bytes. The dense one fills what is absent with the neutral element.
constexpr StreamFormat shortest_format(std::uint64_t length, std::uint64_t nnz,
                                       std::uint64_t value_bytes) {
  StreamFormat best = StreamFormat::pairs;
  for (const StreamFormat other :
       {StreamFormat::blocks, StreamFormat::bitmap, StreamFormat::dense}) {
    if (stream_payload_bytes(other, length, nnz, value_bytes) <
        stream_payload_bytes(best, length, nnz, value_bytes)) {
      best = other;
    }
  }
  return best;
}

// Whether so many elements of a segment are kept dense: from N v / (c + v) on, for N elements of v
// bytes with indices of c, as pairs would take more. The multiplier is below 1 where sums of pairs
// cost more than their bytes say.
constexpr bool kept_dense(std::uint64_t length, std::uint64_t nnz, std::uint64_t value_bytes,
                          double multiplier) {
  const auto pair_bytes = static_cast<double>(stream_index_bytes(length) + value_bytes);
  return length > 0 && static_cast<double>(nnz) * pair_bytes >=
                           multiplier * static_cast<double>(length * value_bytes);
}

}  // namespace unisono
