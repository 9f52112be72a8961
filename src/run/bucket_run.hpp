// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One bucket on its way: encoded into buffers of the engine, moved by collective machines, decoded
// into the callers' outputs when all of it has arrived. A failure in between leaves the callers'
// memory as it was: it is written only while completing, or put back.
// Thread: the engine's driver. Destroyed when finished, or after the transport.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "submit/resolve.hpp"
#include "encode/codec.hpp"
#include "run/buffers.hpp"
#include "model/members.hpp"
#include "model/pending.hpp"
#include "model/plan.hpp"
#include "move/collective.hpp"
#include "move/local/local.hpp"
#include "unisono/options.hpp"

namespace unisono::run {

// Which of the 32-bit bucket numbers of a set's tags are whose: the lower half the set's own, the
// upper half those of its persistent operations, 2^20 for each.
struct MoveNumbers {
  std::uint64_t base = 0, mask = 0xFFFFFFFF;
};
inline constexpr MoveNumbers kSetMoves{0, 0x7FFFFFFF};
inline constexpr std::uint32_t kPersistentsMax = 2048;  // of one set, at one time
inline constexpr MoveNumbers persistent_moves(std::uint32_t index) {
  return {std::uint64_t{1} << 31 | std::uint64_t{index} << 20, 0xFFFFF};
}

struct RunContext {
  transport::Transport* transport = nullptr;
  const Members* members = nullptr;         // outlives the run
  move::LocalTeam* team = nullptr;                // all members share memory; outlives the run
  BufferPool* buffers = nullptr;
  const Options* options = nullptr;
  std::uint64_t* next_move = nullptr;       // count of machines; equal on all members
  std::uint64_t move_stride = 1;            // channels of a set count in steps, so that tags differ
  MoveNumbers moves;                        // how the count becomes the bucket of a tag
};

// The same error, naming the tensor it reached.
Status name_tensor(const Status& status, const Request& request);

// A tensor of the bucket while it travels.
struct TravellingTensor {
  const Request* request = nullptr;
  const Response* response = nullptr;
  const std::vector<std::int64_t>* extents = nullptr;
  Pending pending;
  std::size_t offset = 0;                   // place in the fused buffer
  BufferPool::Buffer in;                    // when the tensor moves alone
  std::size_t out_count = 0;                // elements of the result
  Shape out_shape;
  std::vector<std::int64_t> out_splits;
  // alltoall: how this member divides its rows, and what the others said. All of them when the
  // members share memory (sender, receiver), otherwise what each sends here.
  std::vector<std::int64_t> splits, counts;

  bool absent() const { return pending.ticket == nullptr; }
};

class BucketRun {
 public:
  // pendings is parallel to the bucket's tensors; one without ticket is a rank that has joined.
  BucketRun(Bucket bucket, std::vector<Pending> pendings, RunContext context);

  // Packs and makes the first machine; out_of_memory when the buffers cannot be had.
  Status start();
  move::Step step();
  // After step() finished: writes the outputs; then resolve_tickets() tells who waits.
  void write_outputs();
  void resolve_tickets(const submit::ReleaseName& release);
  // After step() finished: the strongest vote of any member. When it is abort, nothing was written
  // and give_back() follows instead of the two.
  PlanVote vote() const;
  std::vector<Pending> give_back();
  // Resolves the tickets with an error; the run itself lives on until the transport is gone.
  void fail(const Status& status, const submit::ReleaseName& release);

  // Not ok when a machine could not be started or can never end: the job cannot go on.
  const Status& trouble() const;
  bool planned() const { return bucket_.responses.front().planned; }
  // A planned run that a member will never take part in: counts as finished, with that member
  // voting abort. Local runs only.
  void cancel();
  // Whether every member has been seen to take part, as far as the machine can tell.
  bool joined() const { return machine_ != nullptr && machine_->joined(); }
  bool ready() const { return machine_ != nullptr && machine_->ready(); }
  const Bucket& bucket() const { return bucket_; }
  std::string describe() const;
  // Whether the machine touches nothing but memory, so that any one thread may step it.
  bool local() const { return context_.team != nullptr; }
  std::size_t tensor_count() const { return tensors_.size(); }
  const TravellingTensor& tensor(std::size_t index) const { return tensors_[index]; }

 private:
  using Tensor = TravellingTensor;
  Status start_fused_allreduce();
  Status start_adasum();
  void finish_adasum();
  bool is_adasum() const {
    return bucket_.op == ReduceOp::adasum && bucket_.kind == Collective::allreduce;
  }
  std::vector<std::size_t> element_counts() const;
  Status start_tensor(std::size_t index);
  // alltoall of uneven rows: first the counts travel, then the rows (alltoall_run.cpp).
  Status start_counts(Tensor& tensor);
  Status check_counts(const Tensor& tensor) const;
  Status start_next();
  void fill_equal_counts(Tensor& tensor) const;
  bool fits_shared_memory() const;
  std::size_t wire_bytes(const Tensor& tensor) const;
  std::int64_t divisor(const Tensor& tensor) const;
  void* output_of(const Tensor& tensor) const;
  // Elements [first, first + count) of a tensor into or out of the fused buffer.
  encode::EncodePart encode_part(const Tensor& tensor, std::size_t first, std::size_t count,
                         std::size_t offset) const;
  encode::DecodePart decode_part(const Tensor& tensor, std::size_t first, std::size_t count,
                         std::size_t offset) const;
  Status place_results();
  // The same over shared memory: machines read and write the callers' tensors themselves.
  Status start_local_allreduce();
  Status start_local_tensor(std::size_t index);
  move::LocalReduction local_reduction(const Tensor& first) const;
  move::Translation translation() const;
  Status take_buffer(BufferPool::Buffer& buffer, std::size_t bytes);
  Status own_result(Tensor& tensor, std::size_t bytes);
  move::MoveContext next_context() const;
  void finish_tensor(Tensor& tensor);

  Bucket bucket_;
  RunContext context_;
  SetId set_;
  const encode::Codec* codec_ = nullptr;  // of allreduces; null when this engine has no such codec
  DType wire_ = DType::f32;                 // what the bucket is reduced in
  std::vector<Tensor> tensors_;
  BufferPool::Buffer fused_;
  std::size_t fused_bytes_ = 0;             // of tensors; the vote follows when planned
  std::unique_ptr<move::CollectiveMachine> machine_;
  std::size_t current_ = 0;                 // which tensor moves, when each has its own machine
  bool counting_ = false;                   // the machine moves counts, not yet rows
  bool cancelled_ = false;
  Status trouble_;                          // starting a later tensor failed
  std::vector<std::unique_ptr<std::byte[]>> abandoned_;  // results that transfers may still write
};

}  // namespace unisono::run
