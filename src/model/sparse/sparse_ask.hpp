// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a request for a sparse collective says beyond what all requests do: how many elements there
// are, from which all members choose an algorithm alike, and how the caller wants it done.
// A value; part of a Request on the wire (docs/WIRE_FORMAT.md). Pure; thread: any.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "base/data/bytes.hpp"
#include "model/sparse/stream_bytes.hpp"

namespace unisono {

struct SparseAsk {
  // As it is sent, of the member: rounded_nnz() of its elements, or 0 when `expected` says it. In a
  // response: the most that any member said.
  std::uint64_t nnz = 0;
  std::uint64_t nnz_sum = 0;            // in a response: of all members together
  std::uint64_t expected = 0;           // elements on each member, where the caller says so
  std::uint64_t top_k = 0;              // oktopk: elements of the result; 0: as many as anybody has
  bool allow_loss = false;
  bool same_indices = false;            // all members have the same ones, most likely
  bool refuse_overlap = false;          // allgather: an index on two members is an error
  std::uint8_t gather_bits = 0;         // dsar_split_allgather: 2, 4 or 8 of each sum; 0 = all
  std::string algorithm;                // "" = chosen from the counts
  std::string user_operator;            // its name; "" = one of our own

  // Whether both want the same, whatever they have.
  bool agrees_with(const SparseAsk& other) const {
    SparseAsk same = other;
    same.nnz = nnz;
    same.nnz_sum = nnz_sum;
    return *this == same;
  }
  std::uint64_t most() const { return expected != 0 ? expected : nnz; }
  // What the member with the most elements brings, about.
  std::uint64_t bytes(std::int64_t length, std::size_t value_bytes) const {
    const auto all = static_cast<std::uint64_t>(length);
    return std::min(most(), all) * (stream_index_bytes(all) + value_bytes);
  }
  friend bool operator==(const SparseAsk&, const SparseAsk&) = default;
};

// Two significant bits, rounded up: members and steps whose counts are about alike ask the same, so
// that trees merge what they ask and caches know it.
constexpr std::uint64_t rounded_nnz(std::uint64_t nnz, std::uint64_t length) {
  if (nnz < 4) return nnz;
  const auto shift = static_cast<int>(std::bit_width(nnz)) - 2;
  const std::uint64_t step = std::uint64_t{1} << shift;
  return std::min((nnz + step - 1) >> shift << shift, length);
}

void encode_sparse_ask(const SparseAsk& ask, ByteWriter& out);
SparseAsk decode_sparse_ask(ByteReader& in);  // check in.ok() afterwards

}  // namespace unisono
