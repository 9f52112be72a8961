// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An encoded tensor as bytes: a header of 40 bytes that says how long the rest is, then the
// payload. What comes is compared with what the receiver expects before any of it is used: a header
// with other numbers, a payload of another length or indices out of order are refused, and nothing
// is read beyond the end.
//
//   all          values
//   buckets      for each pick its place in its bucket (16 bits), then the values of the picks
//   others       for each pick its index (32 bits), increasing, then the values
//   low rank     the left factor, rows x k, then the right one, columns x k, float32
//
// Pure; thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "encode/packet/values.hpp"
#include "unisono/codec.hpp"
#include "unisono/status.hpp"

namespace unisono::encode {

inline constexpr std::size_t kPacketHeaderBytes = 40;

struct PacketHeader {
  CodecPick pick = CodecPick::all;
  ValueForm form;
  std::uint64_t count = 0;                  // elements of the tensor
  std::uint64_t picks = 0;                  // values that are there; count where all are
  std::uint32_t bucket = 0;                 // buckets: their length; low rank: rows
  std::uint32_t k = 0;                      // buckets: picks of each; low rank: the rank
  std::uint32_t step = 0;

  std::uint64_t index_bytes() const;
  std::uint64_t payload_bytes() const;
  std::uint64_t bytes() const { return kPacketHeaderBytes + payload_bytes(); }
};

void write_header(const PacketHeader& header, std::byte* out);
// The header of a packet of a tensor of so many elements, encoded by the codec. rows: of a low rank.
// Corrupted where it contradicts itself, or the bytes; mismatch where the sender has another tensor
// or codec.
Result<PacketHeader> read_header(std::span<const std::byte> packet, const CodecSpec& codec,
                                 std::uint64_t count, std::uint32_t rows);
// Whether indices increase and lie within the tensor; of a header that read_header() gave.
Status check_indices(const PacketHeader& header, std::span<const std::byte> packet);

}  // namespace unisono::encode
