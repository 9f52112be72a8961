// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One bucket on its way, whatever kind of run it takes (make_run.hpp): it is started, stepped until
// finished, writes its outputs when all of it has arrived, and resolves its tickets. A failure in
// between leaves the callers' memory as it was, since it is written only while completing; except in
// a DirectRun and in a LocalRun, unless the caller asked for keep_inputs.
// Thread: the engine's driver. Destroyed when finished, or after the transport.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cost/layout.hpp"
#include "encode/feedback/codec_memory.hpp"
#include "run/buffers.hpp"
#include "model/members.hpp"
#include "model/pending.hpp"
#include "model/plan.hpp"
#include "move/collective.hpp"
#include "move/host_team.hpp"
#include "move/local/team.hpp"
#include "move/sparse/sparse.hpp"
#include "submit/resolve.hpp"
#include "unisono/options.hpp"

namespace unisono::run {

// Who has which of the 32-bit bucket numbers of a set's tags: the lower half is the set's own, the
// upper half belongs to its persistent operations, 2^20 for each.
struct MoveNumbers {
  std::uint64_t base = 0, mask = 0xFFFFFFFF;
};
inline constexpr MoveNumbers kSetMoves{0, 0x7FFFFFFF};
inline constexpr std::uint32_t kPersistentsMax = 2048;  // of one set, at one time
inline constexpr MoveNumbers persistent_moves(std::uint32_t index) {
  return {std::uint64_t{1} << 31 | std::uint64_t{index} << 20, 0xFFFFF};
}

class Selector;                             // run/select/selector.hpp
class Explanations;                         // run/select/explanations.hpp
struct Choice;                              // there, too

// What "oktopk" keeps of each tensor of a set.
using TopkMemories = std::map<std::string, move::TopkMemory, std::less<>>;

struct RunContext {
  transport::Transport* transport = nullptr;
  const Members* members = nullptr;         // outlives the run
  move::LocalTeam* team = nullptr;                // all members share memory; outlives the run
  move::HostTeam* host = nullptr;           // members on several hosts; outlives the run
  BufferPool* buffers = nullptr;
  const Options* options = nullptr;
  std::uint64_t* next_move = nullptr;       // count of machines; equal on all members
  std::uint64_t move_stride = 1;            // channels of a set count in steps, so that tags differ
  MoveNumbers moves;                        // how the count becomes the bucket of a tag
  Selector* selector = nullptr;             // null: fixed rules choose algorithms; outlives the run
  const Clock* clock = nullptr;             // where there is a selector, or an emulated network
  encode::CodecMemory* codecs = nullptr;    // outlives the run; none: nothing is kept
  const cost::Network* network = nullptr;   // null: typical figures choose sparse algorithms
  TopkMemories* topk = nullptr;             // of the set; outlives the run
  Explanations* explanations = nullptr;     // outlives the run; may be null
};

// The same error, naming the tensor it reached, and whether its output is as it was.
Status name_tensor(const Status& status, const Request& request, bool output_spared = true);

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
  // pendings is parallel to the bucket's tensors; one without ticket is of a rank that has joined.
  BucketRun(Bucket bucket, std::vector<Pending> pendings, RunContext context);
  virtual ~BucketRun() = default;

  // Packs and makes the first machine; returns out_of_memory when the buffers cannot be had.
  virtual Status start() = 0;
  virtual move::Step step() { return machine_->step(); }
  // After step() finished: writes the outputs; then resolve_tickets() tells who waits.
  void write_outputs();
  void resolve_tickets(const submit::ReleaseName& release);
  // After step() finished: the strongest vote of any member. When it is abort, nothing was written
  // and give_back() follows instead of the two.
  PlanVote vote() const;
  std::vector<Pending> give_back();
  // Whether this only asks the members; what it holds is to be run when they agree.
  virtual bool is_ballot() const { return false; }
  // Gives up a ballot that has ended: its bucket, and with give_back() its pendings.
  Bucket give_up_bucket() { return std::move(bucket_); }
  // Before start(): the members have voted, all are there, and nobody votes again.
  void settle(PlanVote vote) { settled_ = vote; }
  bool settled() const { return settled_.has_value(); }
  // Resolves the tickets with an error; the run itself lives on until the transport is gone.
  void fail(const Status& status, const submit::ReleaseName& release);

  // Not ok when a machine could not be started or can never end: the job cannot go on.
  virtual const Status& trouble() const;
  bool planned() const { return bucket_.responses.front().planned; }
  // A planned run that a member will never take part in: counts as finished, with that member
  // voting abort. Local runs only.
  void cancel();
  // Whether every member has been seen to take part. Runs over messages cannot tell.
  virtual bool joined() const { return machine_ != nullptr; }
  virtual bool ready() const { return machine_ != nullptr && machine_->ready(); }
  // Whether the next step() touches nothing but memory of this run, and takes long: any one thread
  // may make that step.
  virtual bool computes() const { return false; }
  const Bucket& bucket() const { return bucket_; }
  std::string describe() const;
  // How much longer the network of the option emulate would take. The same on all members.
  Nanos emulated() const;
  // How many bytes a bucket would be on that network.
  virtual std::size_t emulated_bytes() const;
  // step() has finished, and must not be called again, but nobody has been told.
  void note_moved() { moved_ = true; }
  const Clock& clock() const { return *context_.clock; }
  // Whether the machine touches nothing but memory, so that any one thread may step it.
  bool local() const { return context_.team != nullptr; }
  std::size_t tensor_count() const { return tensors_.size(); }
  const TravellingTensor& tensor(std::size_t index) const { return tensors_[index]; }

 protected:
  using Tensor = TravellingTensor;
  // Writes to the callers' outputs what the finished machine left in buffers of the engine.
  virtual void deliver() {}
  // What the members voted, once a planned bucket has been moved.
  virtual PlanVote moved_vote() const { return machine_->vote(); }
  // Whether the machine needs nobody else to end, so that what it has begun to write becomes whole.
  virtual bool committed() const { return false; }
  // Tells a machine that failed to take back what it shows to others.
  virtual void undo() {}
  // Whether a failure leaves the output of the tensor as it was.
  virtual bool spares_output(const Tensor&) const { return true; }
  // Whether the end of the machine is the end of the bucket.
  virtual bool is_last_machine() const { return true; }
  virtual void give_buffers_back() {}
  // What the ticket of a tensor that has moved is told.
  virtual Status outcome(const Tensor&) const { return {}; }

  // Whether a vote goes with the data.
  bool votes() const { return planned() && !settled_; }
  // Whether the caller asked that a failure leaves the output as it was.
  bool keeps(const Tensor& tensor) const {
    return tensor.pending.keep_inputs || context_.options->keep_inputs;
  }
  // How many contributions count in an average.
  std::int64_t divisor(const Tensor& tensor) const;
  void* output_of(const Tensor& tensor) const;
  Status take_buffer(BufferPool::Buffer& buffer, std::size_t bytes);
  Status own_result(Tensor& tensor, std::size_t bytes);
  move::MoveContext next_context() const;
  // The machine of an algorithm that was chosen; when it is on trial, members agree afterwards on
  // how long it took.
  void run_chosen(std::unique_ptr<move::CollectiveMachine> machine, const Choice& choice);

  Bucket bucket_;
  RunContext context_;
  std::vector<Tensor> tensors_;
  std::unique_ptr<move::CollectiveMachine> machine_;

 private:
  bool cancelled_ = false, moved_ = false;
  std::optional<PlanVote> settled_;         // by a ballot before it
  std::vector<std::unique_ptr<std::byte[]>> abandoned_;  // results that transfers may still write
};

}  // namespace unisono::run
