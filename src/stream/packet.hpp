// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A sparse stream on the wire: a header of kStreamHeaderBytes, which goes ahead and says how long
// the rest is, and the payload: what precedes the values (model/sparse/stream_bytes.hpp), then the
// values. Indices count from the beginning of the segment. What comes is compared with what the
// receiver expects and checked before any of it is used: no header makes it allocate more than its
// own segment could need, and no payload makes it write or read elsewhere.
// Pure; thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/sparse/stream_bytes.hpp"
#include "stream/stream.hpp"

namespace unisono::stream {

struct Header {
  StreamFormat format = StreamFormat::pairs;
  DType dtype = DType::f32;
  std::uint8_t index_bytes = 4;
  ReduceOp op = ReduceOp::sum;
  std::uint32_t sequence = 0;               // which operation, of the sender
  std::uint64_t offset = 0, length = 0;     // the segment
  std::uint64_t nnz = 0, payload_bytes = 0;
};

// What both ends know.
struct Expected {
  DType dtype = DType::f32;
  DType partial_dtype = DType::f32;         // may come instead; dtype itself where nothing else may
  kernels::Operator op;
  std::uint64_t offset = 0, length = 0;
  std::uint32_t sequence = 0;
};

using HeaderBytes = std::array<std::byte, kStreamHeaderBytes>;

struct Packet {
  HeaderBytes header{};
  Array<std::byte> payload;
};

// In the form with the fewest bytes.
Packet write_packet(const View& view, const kernels::Operator& op, std::uint64_t offset,
                    std::uint32_t sequence);
// A header that says what is wanted, for tests and the fuzzer.
HeaderBytes write_header(const Header& header, const kernels::Operator& op);

// Mismatch where the sender does something else, corrupted where the header contradicts itself.
Result<Header> read_header(std::span<const std::byte> bytes, const Expected& expected);

// Indices of the formats that carry none.
using IndexScratch = Array<std::uint32_t>;
using WideIndexScratch = Array<std::uint64_t>;
struct Scratch {
  IndexScratch narrow;
  WideIndexScratch wide;
};
// The header is one that read_header() gave. The view points into the payload, which is aligned to
// 8 bytes, and the scratch.
Result<View> read_payload(const Header& header, std::span<const std::byte> payload,
                          Scratch& scratch);

}  // namespace unisono::stream
