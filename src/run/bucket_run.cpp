// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/bucket_run.hpp"

#include <utility>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "encode/codec.hpp"
#include "model/options/emulated_wire.hpp"
#include "run/select/trial_machine.hpp"

namespace unisono::run {

Status name_tensor(const Status& status, const Request& request, bool output_spared) {
  Culprit culprit = status.culprit();
  if (!culprit.tensor.empty()) return status;
  culprit.tensor = request.name;
  return Status(status.code(),
                cat(status.message(), " ('", request.name, "' was in flight; its output is ",
                    output_spared ? "untouched)" : "undefined, as keep_inputs is off)"),
                std::move(culprit));
}

BucketRun::BucketRun(Bucket bucket, std::vector<Pending> pendings, RunContext context)
    : bucket_(std::move(bucket)), context_(context) {
  std::size_t next = 0;
  for (const Response& response : bucket_.responses) {
    for (std::size_t i = 0; i < response.tensors.size(); ++i) {
      Tensor tensor;
      tensor.request = &response.tensors[i];
      tensor.response = &response;
      tensor.extents = i < response.extents.size() ? &response.extents[i] : nullptr;
      tensor.pending = std::move(pendings[next++]);
      tensors_.push_back(std::move(tensor));
    }
  }
  UNISONO_CHECK(next == pendings.size());
  abandoned_.reserve(tensors_.size());      // there may be no memory when it fails
}

std::int64_t BucketRun::divisor(const Tensor& tensor) const {
  const auto n = static_cast<std::int64_t>(context_.members->count());
  const auto absent = static_cast<std::int64_t>(tensor.response->absent.size());
  return context_.options->join_divisor == "active" ? n - absent : n;
}

void* BucketRun::output_of(const Tensor& tensor) const {
  std::byte* owned = tensor.pending.ticket->result.get();
  return owned != nullptr ? owned : tensor.pending.output;
}

Status BucketRun::take_buffer(BufferPool::Buffer& buffer, std::size_t bytes) {
  buffer = context_.buffers->take(bytes);
  if (buffer.memory != nullptr) return {};
  return Status(Code::out_of_memory,
                cat("no memory for a buffer of ", bytes, " bytes for '",
                    tensors_.front().request->name,
                    "'; free memory on this host or lower fusion_bytes"));
}

// The ticket owns the result; it becomes visible only when the ticket is finished.
Status BucketRun::own_result(Tensor& tensor, std::size_t bytes) {
  if (tensor.absent()) return {};
  TicketState& ticket = *tensor.pending.ticket;
  ticket.result.reset(new (std::nothrow) std::byte[bytes == 0 ? 1 : bytes]);
  if (ticket.result != nullptr) {
    ticket.result_bytes = bytes;
    return {};
  }
  return Status(Code::out_of_memory, cat("no memory for the ", bytes, " byte result of '",
                                         tensor.request->name, "'"));
}

// Over loopback, with a thread for each connection, the times cross at about this size; sooner where
// the members' slices are cut for several connections.
constexpr std::size_t kLongBytes = 1 << 20;

bool is_long(const Bucket& bucket, std::size_t members) {
  return bucket.bytes > kLongBytes || (bucket.kind == Collective::allreduce &&
                                       bucket.bytes / members >= move::kSharedSliceBytes);
}

move::MoveContext BucketRun::next_context() const {
  const std::uint64_t count =
      std::exchange(*context_.next_move, *context_.next_move + context_.move_stride);
  return {.transport = context_.transport,
          .members = context_.members,
          .set = bucket_.set,
          .bucket = context_.moves.base | (count & context_.moves.mask),
          .identity = bucket_.identity,
          .host = context_.host,
          .is_long = is_long(bucket_, static_cast<std::size_t>(context_.members->count()))};
}

void BucketRun::run_chosen(std::unique_ptr<move::CollectiveMachine> machine,
                           const Choice& choice) {
  machine_ = std::move(machine);
  if (!choice.trial) return;
  TrialContexts contexts;
  for (move::MoveContext& each : contexts) each = next_context();
  machine_ = make_trial_machine(std::move(machine_), contexts,
                                {context_.selector, choice, context_.clock});
}

const Status& BucketRun::trouble() const {
  static const Status kNone;
  return machine_ != nullptr ? machine_->trouble() : kNone;
}

void BucketRun::cancel() {
  undo();
  cancelled_ = true;
}

PlanVote BucketRun::vote() const {
  if (cancelled_) return PlanVote::abort;
  if (settled_) return *settled_;
  return planned() ? moved_vote() : PlanVote::run;
}

std::vector<Pending> BucketRun::give_back() {
  std::vector<Pending> pendings;
  for (Tensor& tensor : tensors_) {
    if (tensor.absent()) continue;
    tensor.pending.ticket->result.reset();
    tensor.pending.ticket->result_bytes = 0;
    pendings.push_back(std::move(tensor.pending));
  }
  give_buffers_back();
  return pendings;
}

// All outputs are in place before any ticket is resolved: a group becomes visible as one.
void BucketRun::write_outputs() {
  deliver();
  for (Tensor& tensor : tensors_) {
    if (tensor.absent()) continue;
    TicketState& ticket = *tensor.pending.ticket;
    ticket.dtype = tensor.request->dtype;
    ticket.shape = std::move(tensor.out_shape);
    ticket.splits = std::move(tensor.out_splits);
  }
}

void BucketRun::resolve_tickets(const submit::ReleaseName& release) {
  for (Tensor& tensor : tensors_) {
    if (!tensor.absent()) submit::resolve(tensor.pending, outcome(tensor), release);
  }
  give_buffers_back();
}

void BucketRun::fail(const Status& status, const submit::ReleaseName& release) {
  // A result that is complete in shared memory is delivered: the callers' outputs may have been
  // begun, and nobody else is needed to end them.
  if (moved_ && vote() != PlanVote::abort) {
    write_outputs();
    return resolve_tickets(release);
  }
  if (!moved_ && machine_ != nullptr && is_last_machine() && committed()) {
    while (machine_->step() != move::Step::finished) {
    }
    write_outputs();
    return resolve_tickets(release);
  }
  const bool begun = machine_ != nullptr;
  if (begun) {
    undo();
    machine_->abandon();
  }
  for (Tensor& tensor : tensors_) {
    if (tensor.absent()) continue;
    // Transfers may still point at an engine-owned result; the run keeps it.
    if (tensor.pending.ticket->result != nullptr) {
      abandoned_.push_back(std::move(tensor.pending.ticket->result));
      tensor.pending.ticket->result_bytes = 0;
    }
    const bool spared = !begun || spares_output(tensor);
    submit::resolve(tensor.pending, name_tensor(status, *tensor.request, spared), release);
  }
}

Nanos BucketRun::emulated() const {
  const Options* options = context_.options;
  if (is_ballot() || context_.clock == nullptr || options == nullptr || options->emulate == "off" ||
      context_.members->count() == 1 || vote() == PlanVote::abort) {
    return Nanos(0);
  }
  const auto wire = parse_emulated_wire(options->emulate);
  UNISONO_CHECK(wire.has_value());
  constexpr double kDay_s = 86'400;
  return seconds_to_nanos(std::min(wire->seconds(emulated_bytes()), kDay_s));
}

std::size_t BucketRun::emulated_bytes() const {
  const encode::Codec* codec = encode::find_codec(codec_of(bucket_));
  if (bucket_.kind != Collective::allreduce || codec == nullptr) return bucket_.bytes;
  return codec->wire_bytes(bucket_.dtype, bucket_.bytes / size_of(bucket_.dtype));
}

std::string BucketRun::describe() const {
  return cat("bucket ", bucket_.id, " of set ", bucket_.set, " ('",
             tensors_.front().request->name, "'",
             tensors_.size() > 1 ? cat(" and ", tensors_.size() - 1, " more") : std::string(),
             "): ", machine_ ? machine_->describe() : std::string("not started"));
}

}  // namespace unisono::run
