// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/bucket_run.hpp"

#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "run/unpack.hpp"
#include "run/row_split.hpp"
#include "run/vote_flags.hpp"
#include "kernels/kernels.hpp"

namespace unisono::run {

Status name_tensor(const Status& status, const Request& request) {
  Culprit culprit = status.culprit();
  if (!culprit.tensor.empty()) return status;
  culprit.tensor = request.name;
  return Status(
      status.code(),
      cat(status.message(), " ('", request.name, "' was in flight; its output is untouched)"),
      std::move(culprit));
}

BucketRun::BucketRun(Bucket bucket, std::vector<Pending> pendings, RunContext context)
    : bucket_(std::move(bucket)), context_(context), set_(bucket_.set), wire_(bucket_.dtype) {
  codec_ = encode::find_codec(bucket_.responses.front().tensors.front().codec);
  if (codec_ != nullptr && bucket_.kind == Collective::allreduce) {
    wire_ = codec_->wire_dtype(bucket_.dtype);
  }
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

// Decided from what all members know alike, so that all of them choose the same way.
bool BucketRun::fits_shared_memory() const {
  if (context_.team == nullptr) return false;
  std::size_t bytes = 0;
  for (const Tensor& tensor : tensors_) {
    const Request& request = *tensor.request;
    if (tensor.extents == nullptr || tensor.extents->empty()) {
      bytes += wire_bytes(tensor);
      continue;
    }
    std::int64_t rows = 0;
    for (const std::int64_t n : *tensor.extents) rows += n;
    bytes += static_cast<std::size_t>(rows) * row_bytes(request);
  }
  if (is_adasum())
    bytes += 64 + move::local_adasum_extra(context_.members->count(), tensors_.size());
  return bytes <= context_.team->window_max();
}

std::size_t BucketRun::wire_bytes(const Tensor& tensor) const {
  if (bucket_.kind != Collective::allreduce) return tensor.request->bytes();
  return codec_->wire_bytes(bucket_.dtype, static_cast<std::size_t>(tensor.request->elements()));
}

// Of an average: how many contributions count.
std::int64_t BucketRun::divisor(const Tensor& tensor) const {
  const auto n = static_cast<std::int64_t>(context_.members->count());
  const auto absent = static_cast<std::int64_t>(tensor.response->absent.size());
  return context_.options->join_divisor == "active" ? n - absent : n;
}

Status BucketRun::start() {
  if (codec_ == nullptr) {
    const Request& request = *tensors_.front().request;
    return Status(Code::internal, cat("the ranks agreed on codec '", request.codec, "' for '",
                                      request.name, "', which this rank does not have; run the "
                                      "same version everywhere"));
  }
  if (!fits_shared_memory()) context_.team = nullptr;
  if (context_.team != nullptr) {
    return bucket_.kind == Collective::allreduce ? start_local_allreduce() : start_local_tensor(0);
  }
  if (is_adasum()) return start_adasum();
  if (bucket_.kind == Collective::allreduce) return start_fused_allreduce();
  return start_tensor(0);
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

move::MoveContext BucketRun::next_context() const {
  const std::uint64_t count =
      std::exchange(*context_.next_move, *context_.next_move + context_.move_stride);
  return {.transport = context_.transport,
          .members = context_.members,
          .set = set_,
          .bucket = context_.moves.base | (count & context_.moves.mask),
          .identity = bucket_.identity};
}

// Where each tensor of an allreduce lies in the fused buffer, and who owns its result.
Status BucketRun::place_results() {
  for (Tensor& tensor : tensors_) {
    tensor.offset = fused_bytes_;
    tensor.out_shape = tensor.request->shape;
    tensor.out_count = static_cast<std::size_t>(tensor.request->elements());
    fused_bytes_ += wire_bytes(tensor);
    if (!tensor.absent() && tensor.pending.output == nullptr) {
      if (auto status = own_result(tensor, tensor.request->bytes()); !status) return status;
    }
  }
  return {};
}

Status BucketRun::start_fused_allreduce() {
  if (auto status = place_results(); !status) return status;
  const std::size_t all = fused_bytes_ + (planned() ? kVoteFlags * size_of(wire_) : 0);
  if (auto status = take_buffer(fused_, all); !status) return status;
  for (const Tensor& tensor : tensors_) {
    codec_->encode(encode_part(tensor, 0, tensor.out_count, tensor.offset));
  }
  if (planned()) {
    put_vote(bucket_.responses.front().vote, wire_, bucket_.op,
               fused_.memory.get() + fused_bytes_);
  }
  const std::string& algorithm =
      context_.options->deterministic ? std::string("direct") : context_.options->algorithm;
  machine_ = move::make_allreduce(algorithm, next_context(), wire_, bucket_.op, fused_.first(all));
  return {};
}

encode::EncodePart BucketRun::encode_part(const Tensor& tensor, std::size_t first,
                                          std::size_t count, std::size_t offset) const {
  const auto* input = static_cast<const std::byte*>(tensor.pending.input);
  return {.tensor = tensor.request->name,
          .dtype = bucket_.dtype,
          .op = bucket_.op,
          .prescale = tensor.request->prescale,
          .elements = tensor.absent() || count == 0 ? nullptr
                                                    : input + first * size_of(bucket_.dtype),
          .count = count,
          .wire = fused_.memory.get() + offset};
}

void* BucketRun::output_of(const Tensor& tensor) const {
  std::byte* owned = tensor.pending.ticket->result.get();
  return owned != nullptr ? owned : tensor.pending.output;
}

encode::DecodePart BucketRun::decode_part(const Tensor& tensor, std::size_t first,
                                          std::size_t count, std::size_t offset) const {
  return {.tensor = tensor.request->name,
          .dtype = bucket_.dtype,
          .divisor = bucket_.op == ReduceOp::average ? divisor(tensor) : 1,
          .postscale = tensor.request->postscale,
          .wire = fused_.memory.get() + offset,
          .count = count,
          .elements = static_cast<std::byte*>(output_of(tensor)) + first * size_of(bucket_.dtype)};
}

Status BucketRun::start_tensor(std::size_t index) {
  current_ = index;
  Tensor& tensor = tensors_[index];
  const Request& request = *tensor.request;
  if (request.kind == Collective::barrier) {
    machine_ = move::make_barrier(next_context());
    return {};
  }
  const Members& members = *context_.members;
  const int n = members.count();
  const auto me = static_cast<std::size_t>(members.me);
  const std::size_t element = size_of(request.dtype);
  UNISONO_CHECK(!tensor.absent());
  if (request.kind == Collective::alltoall && tensor.counts.empty()) {
    if (request.uneven) return start_counts(tensor);
    fill_equal_counts(tensor);
  }
  const Request& mine = tensor.pending.request;
  const auto in_count = static_cast<std::size_t>(mine.elements());
  if (auto status = take_buffer(tensor.in, in_count * element); !status) return status;
  const auto in = tensor.in.first(in_count * element);
  const auto bring = [&] {
    kernels::scale(request.dtype, in.data(), tensor.pending.input, request.prescale, in_count);
  };

  if (request.kind == Collective::broadcast) {
    const int root = members.index_of(request.root);
    if (root == members.me) bring();
    tensor.out_shape = request.shape;
    tensor.out_count = in_count;
    if (tensor.pending.output == nullptr) {
      if (auto status = own_result(tensor, in.size()); !status) return status;
    }
    machine_ = move::make_broadcast(next_context(), root, in);
    return {};
  }

  bring();
  const std::size_t row = row_bytes(request);
  std::int64_t rows = 0;
  move::Extents sends, receives;
  if (request.kind == Collective::allgather) {
    receives = to_bytes(*tensor.extents, row);
    rows = std::accumulate(tensor.extents->begin(), tensor.extents->end(), std::int64_t{0});
  } else if (request.kind == Collective::reducescatter) {
    const auto parts = divide_rows(request.shape[0], n);
    sends = to_bytes(parts, row);
    rows = parts[me];
  } else {
    sends = to_bytes(tensor.splits, row);
    tensor.out_splits = tensor.counts;
    receives = to_bytes(tensor.out_splits, row);
    rows = std::accumulate(tensor.out_splits.begin(), tensor.out_splits.end(), std::int64_t{0});
  }
  const std::size_t out_bytes = static_cast<std::size_t>(rows) * row;
  tensor.out_shape = with_rows(request.shape, rows);
  tensor.out_count = out_bytes / element;
  if (auto status = own_result(tensor, out_bytes); !status) return status;
  const std::span<std::byte> out(tensor.pending.ticket->result.get(), out_bytes);

  if (request.kind == Collective::allgather) {
    machine_ = move::make_allgather(next_context(), in, receives, out);
  } else if (request.kind == Collective::reducescatter) {
    machine_ = move::make_reducescatter(next_context(), request.dtype, request.op, in, sends, out);
  } else {
    machine_ = move::make_alltoall(next_context(), in, sends, out, receives);
  }
  return {};
}

const Status& BucketRun::trouble() const {
  return trouble_.ok() && machine_ != nullptr ? machine_->trouble() : trouble_;
}

move::Step BucketRun::step() {
  if (!trouble_.ok()) return move::Step::waiting;
  const move::Step step = machine_->step();
  if (step != move::Step::finished || bucket_.kind == Collective::allreduce) return step;
  if (!counting_ && current_ + 1 == tensors_.size()) return move::Step::finished;
  trouble_ = start_next();
  return move::Step::advanced;
}

void BucketRun::finish_tensor(Tensor& tensor) {
  const Request& request = *tensor.request;
  TicketState& ticket = *tensor.pending.ticket;
  ticket.dtype = request.dtype;
  ticket.shape = std::move(tensor.out_shape);
  ticket.splits = std::move(tensor.out_splits);
  if (context_.team != nullptr) return;     // the machine wrote the output itself
  if (tensor.out_count == 0) return;
  void* out = output_of(tensor);
  if (request.kind == Collective::allreduce) {
    if (!is_adasum()) codec_->decode(decode_part(tensor, 0, tensor.out_count, tensor.offset));
  } else if (request.kind == Collective::broadcast) {
    unpack(request.dtype, {}, tensor.in.memory.get(), out, tensor.out_count);
  } else if (request.kind == Collective::reducescatter) {
    unpack(request.dtype, {request.op, divisor(tensor), request.postscale}, out, out,
           tensor.out_count);
  }
}

void BucketRun::cancel() {
  machine_->undo();
  cancelled_ = true;
}

PlanVote BucketRun::vote() const {
  if (cancelled_) return PlanVote::abort;
  if (!planned()) return PlanVote::run;
  return context_.team != nullptr || is_adasum()
             ? machine_->vote()
             : get_vote(wire_, bucket_.op, fused_.memory.get() + fused_bytes_);
}

std::vector<Pending> BucketRun::give_back() {
  std::vector<Pending> pendings;
  for (Tensor& tensor : tensors_) {
    if (tensor.absent()) continue;
    tensor.pending.ticket->result.reset();
    tensor.pending.ticket->result_bytes = 0;
    pendings.push_back(std::move(tensor.pending));
  }
  context_.buffers->give_back(std::move(fused_));
  return pendings;
}

// All outputs are in place before any ticket is: a group becomes visible as one.
void BucketRun::write_outputs() {
  if (is_adasum() && context_.team == nullptr) finish_adasum();
  for (Tensor& tensor : tensors_) {
    if (!tensor.absent()) finish_tensor(tensor);
  }
}

void BucketRun::resolve_tickets(const submit::ReleaseName& release) {
  for (Tensor& tensor : tensors_) {
    context_.buffers->give_back(std::move(tensor.in));
    if (!tensor.absent()) submit::resolve(tensor.pending, Status{}, release);
  }
  context_.buffers->give_back(std::move(fused_));
}

void BucketRun::fail(const Status& status, const submit::ReleaseName& release) {
  // A result that stands complete in shared memory is delivered: the callers' outputs may have been
  // begun, and nobody is needed to end them.
  const bool last = bucket_.kind == Collective::allreduce || current_ + 1 == tensors_.size();
  if (last && !counting_ && machine_ != nullptr && machine_->committed()) {
    while (machine_->step() != move::Step::finished) {
    }
    write_outputs();
    return resolve_tickets(release);
  }
  if (machine_ != nullptr) machine_->undo();
  for (Tensor& tensor : tensors_) {
    if (tensor.absent()) continue;
    // Transfers may still point at an engine-owned result; the run keeps it.
    if (tensor.pending.ticket->result != nullptr) {
      abandoned_.push_back(std::move(tensor.pending.ticket->result));
      tensor.pending.ticket->result_bytes = 0;
    }
    submit::resolve(tensor.pending, name_tensor(status, *tensor.request), release);
  }
}

std::string BucketRun::describe() const {
  return cat("bucket ", bucket_.id, " of set ", set_, " ('", tensors_.front().request->name, "'",
             tensors_.size() > 1 ? cat(" and ", tensors_.size() - 1, " more") : std::string(),
             "): ", machine_ ? machine_->describe() : std::string("not started"));
}

}  // namespace unisono::run
