// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Collectives of sparse streams, as machines like those of collective.hpp: any number of members,
// each with as many elements as it likes, none included. Nobody knows beforehand how much comes: a
// header goes ahead of every payload (stream/packet.hpp).
// The result is the same bits, in the same form, on all members: an element is reduced in one
// place, or in an order that the members' indices decide, never in the order of arrival. It is
// dense from kept_dense() on (model/sparse/stream_bytes.hpp), which is looked at after every round.
// Sums of 16- and 8-bit floats on the way are float32 and rounded once.
// A member that sends what does not belong here, or nonsense, leaves the machine with a trouble().
// Thread: the one that drives the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "move/collective.hpp"
#include "stream/stream.hpp"

namespace unisono::move {

// How the dense slices of "dsar_split_allgather" travel in the gather. What is decoded counts for
// everybody, the owner included, so that all members have the same bits.
// Thread: the one that drives the engine.
class GatherCodec {
 public:
  virtual ~GatherCodec() = default;
  // Of an encoded slice of so many elements; equal on all members.
  virtual std::size_t bytes(std::size_t count) const = 0;
  // offset: of the slice in the whole; packed has bytes(count).
  virtual void encode(int owner, std::uint64_t offset, DType dtype, const void* values,
                      std::size_t count, std::span<std::byte> packed) = 0;
  virtual void decode(int owner, std::uint64_t offset, DType dtype,
                      std::span<const std::byte> packed, void* values, std::size_t count) = 0;
};

// What "oktopk" keeps from one step of a tensor to the next; the same on all members, which run the
// same steps. Reset it when the members change.
struct TopkMemory {
  std::uint64_t steps = 0;                  // so far
  std::uint64_t estimated_at = 0;           // the step that found the threshold
  float threshold = 0;                      // magnitudes from here on are kept
  bool off = true;                          // the threshold no longer fits: find one
};

struct SparseWork {
  DType dtype = DType::f32;                 // of the result
  kernels::Operator op = {};                // an average is summed; who asked for it divides
  // Of dtype, or on all members its float32 partials; may be dense. Indices have no base. Stays
  // valid until the machine has finished or is abandoned.
  stream::View mine = {};
  double dense_multiplier = 1.0;            // of kept_dense(); equal on all members
  std::uint32_t sequence = 0;               // goes with the data and is compared on arrival
  bool balanced = false;                    // split: owners of equally many elements, not indices
  bool refuse_overlap = false;              // allgather: an index on two members is an error
  bool* overlapped = nullptr;               // the same, but only told: the machine finishes
  GatherCodec* codec = nullptr;             // dsar_split_allgather; lossy or not as it is
  std::uint64_t k = 0;                      // oktopk: elements in the result; 0: what mine has most
  std::uint32_t reestimate_every = 32;      // oktopk: steps for which a threshold is used
  TopkMemory* memory = nullptr;             // oktopk; none: the exact threshold every time
  std::string_view inner = "ssar_split_allgather";  // of hierarchical, and where supports differ

  std::uint64_t length() const { return mine.length; }
};

// Whether a sparse stream of the dtype can be reduced so: absent elements must count as nothing,
// which logical operators on numbers, that turn every value into 0 or 1, do not allow.
bool sparse_reducible(DType dtype, const kernels::Operator& op);

// algorithm: one of the table of kind allreduce; must be the same on all members, like everything
// in the work but `mine`. out is written when the machine finishes, has the dtype and length of the
// work, and is sparse or dense. "hierarchical" without a host team is its inner algorithm.
std::unique_ptr<CollectiveMachine> make_sparse_allreduce(std::string_view algorithm,
                                                         MoveContext context, SparseWork work,
                                                         stream::Stream& out);
// Everybody's elements together; values of one index are combined in member order, or refused.
std::unique_ptr<CollectiveMachine> make_sparse_allgather(MoveContext context, SparseWork work,
                                                         stream::Stream& out);

struct SparseRow {
  Collective kind;
  std::string_view name;
  std::string_view about;                   // steps, bytes, when it wins
  bool lossy = false;                       // only where the caller allows it
};
std::span<const SparseRow> sparse_algorithm_table();
// The same text, as it stands in the table; it must be known for kind allreduce.
std::string_view sparse_algorithm_named(std::string_view name);
bool sparse_algorithm_known(Collective kind, std::string_view name);

}  // namespace unisono::move
