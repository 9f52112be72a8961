// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sparse collectives: some elements of a long vector, as indices and values, on every rank. What is
// absent counts as the operator's neutral element (0 of a sum, 1 of a product, the least of a
// maximum, the greatest of a minimum); explicit zeros are elements like others, and NaN is a value.
//
//   const auto ticket = engine.sparse_allreduce<float>("embedding", indices, values, rows);
//   if (auto status = ticket.wait(); status) use(ticket.sparse());
//
// Indices and values are copied before the call returns, so the caller's memory is free at once.
// Indices may come in any order, and twice: they are sorted, and values of one index are combined
// by the operator. Ranks may have different numbers of elements, none included; dtype, length and
// settings must be the same on all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/export.hpp"
#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono {

// What this rank brings. indices has count elements of index_dtype, values has as many of dtype.
struct SparseOperand {
  DType dtype = DType::f32;
  DType index_dtype = DType::i64;           // i32, i64, u32 or u64
  std::size_t count = 0;
  const void* indices = nullptr;
  const void* values = nullptr;
  std::int64_t length = 0;                  // of the whole vector; equal on all ranks

  // Arrays of different lengths become an operand that is refused.
  template <typename T, typename Index>
  static SparseOperand of(std::span<const Index> indices, std::span<const T> values,
                          std::int64_t length) {
    return {.dtype = dtype_of<T>, .index_dtype = dtype_of<Index>,
            .count = indices.size() == values.size() ? indices.size() : SIZE_MAX,
            .indices = indices.data(), .values = values.data(), .length = length};
  }
};

// An operator of the caller's: associative, applied in the order of ranks, with a neutral element,
// which is what absent elements count as. Ranks must mean the same one by its name. The functions
// are called from any thread, may not throw, and see the operation's own dtype.
struct SparseOperator {
  std::string name;
  // accumulator[i] = accumulator[i] op other[i]; pointers have the alignment of the dtype.
  std::function<void(void* accumulator, const void* other, std::size_t count)> combine;
  std::function<void(void* out, std::size_t count)> fill_neutral;
};

// Must be the same on all ranks, except priority and on_done.
struct SparseSettings {
  // sum, average, min, max, product; on booleans the logical ones, too.
  ReduceOp op = ReduceOp::average;
  double prescale = 1.0;                    // these two are for sums and averages
  double postscale = 1.0;
  std::uint32_t process_set = 0;
  int priority = 0;                         // larger goes first among those ready together
  int team = 0;                             // which of the option teams, from 1; 0 = any
  // One of docs/COMPRESSION.md; "" = the one that should take the least time, from how many
  // elements the ranks have and what links cost.
  std::string algorithm = {};
  // Elements on each rank, for the choice. 0: what the ranks say with their requests; where a
  // learned order needs no requests, what they said last.
  std::uint64_t expected_nnz = 0;
  // Whether "oktopk" may be chosen, which leaves elements out: whoever wants them brings what is
  // not in the result again in the next step.
  bool allow_loss = false;
  std::uint64_t top_k = 0;                  // oktopk: elements of the result; 0: the most of a rank
  // Whether ranks most likely have the same indices, as those of a mask that all share: then they
  // ask each other, and only values travel.
  bool same_indices = false;
  // allgather: an index on two ranks fails the operation on all of them, instead of being combined.
  bool refuse_overlap = false;
  // Whether "dsar_split_allgather", where it is chosen, gathers its sums in 2, 4 or 8 bits each,
  // rounded at random so that they are right on average, with a scale for each 1,024; 0: all bits.
  // float32 sums and averages, with allow_loss. NaN and infinities make the 1,024 around them NaN.
  int gather_bits = 0;
  // Instead of op. Not with "oktopk", nor while a rank has joined, which would not have it.
  std::shared_ptr<const SparseOperator> user_operator = {};
  std::function<void(const Status&)> on_done = {};  // as in Settings
};

// The result, the same bits in the same form on all ranks: sparse, with increasing indices, or
// dense where that is shorter or the algorithm makes it so. Copies share the memory.
struct UNISONO_API SparseResult {
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  std::shared_ptr<const SparseOperator> user_operator = {};  // if there is one, instead of op
  std::int64_t length = 0;
  bool dense = false;                       // values has all elements, and there are no indices
  std::size_t count = 0;                    // of values
  // One of them has the indices of a sparse result: 32 bits wide, or 64 where the length is beyond
  // 2^32.
  std::span<const std::uint32_t> indices32 = {};
  std::span<const std::uint64_t> indices64 = {};
  std::span<const std::byte> values = {};
  std::string_view algorithm;               // which one made it
  std::shared_ptr<const void> memory = {};

  std::int64_t index(std::size_t i) const {
    if (dense) return static_cast<std::int64_t>(i);
    return static_cast<std::int64_t>(indices32.empty() ? indices64[i] : indices32[i]);
  }
  // A dense result without the elements that are neutral bit for bit; a sparse one as it is.
  SparseResult as_pairs() const;
};

}  // namespace unisono
