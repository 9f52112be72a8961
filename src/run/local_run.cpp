// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Buckets whose members all share memory: machines that read and write the callers' tensors directly.
#include <numeric>

#include "base/check.hpp"
#include "run/bucket_run.hpp"
#include "run/row_split.hpp"

namespace unisono::run {
namespace {

const std::byte* bytes_of(const void* data) { return static_cast<const std::byte*>(data); }

}  // namespace

move::LocalReduction BucketRun::local_reduction(const Tensor& first) const {
  const Request& request = *first.request;
  return {.dtype = wire_,
          .op = request.op,
          .prescale = request.prescale,
          .divisor = divisor(first),
          .postscale = request.postscale,
          .vote = first.response->vote,
          .translation = {},
          .items = {},
          .bytes = 0};
}

// The tensors of a bucket are alike in all that matters here but their names, which none of the
// codecs that work on parts of a tensor asks for.
move::Translation BucketRun::translation() const {
  const Request& first = *tensors_.front().request;
  const std::int64_t divided = first.op == ReduceOp::average ? divisor(tensors_.front()) : 1;
  const std::size_t wide = size_of(bucket_.dtype), narrow = size_of(wire_);
  const encode::EncodePart encode{.tensor = {}, .dtype = bucket_.dtype, .op = bucket_.op,
                          .prescale = first.prescale};
  const encode::DecodePart decode{.tensor = {}, .dtype = bucket_.dtype, .divisor = divided,
                          .postscale = first.postscale};
  return {.load =
              [=, this](const move::LocalItem& item, std::size_t from, std::size_t bytes,
                        std::byte* out) {
                encode::EncodePart part = encode;
                part.elements = item.source + from / narrow * wide;
                part.count = bytes / narrow;
                part.wire = out;
                codec_->encode(part);
              },
          .store =
              [=, this](const move::LocalItem& item, std::size_t from, std::size_t bytes,
                        const std::byte* in) {
                encode::DecodePart part = decode;
                part.elements = item.target + from / narrow * wide;
                part.count = bytes / narrow;
                part.wire = in;
                codec_->decode(part);
              }};
}

Status BucketRun::start_local_allreduce() {
  move::LocalReduction work = local_reduction(tensors_.front());
  if (wire_ != bucket_.dtype) work.translation = translation();
  for (Tensor& tensor : tensors_) {
    const std::size_t bytes = wire_bytes(tensor);
    tensor.out_shape = tensor.request->shape;
    if (!tensor.absent() && tensor.pending.output == nullptr) {
      if (auto status = own_result(tensor, tensor.request->bytes()); !status) return status;
    }
    if (bytes == 0) continue;
    move::LocalItem item{
        .source = nullptr, .target = nullptr, .offset = work.bytes, .bytes = bytes};
    if (!tensor.absent()) {
      item.source = bytes_of(tensor.pending.input);
      item.target = tensor.pending.output != nullptr
                        ? static_cast<std::byte*>(tensor.pending.output)
                        : tensor.pending.ticket->result.get();
      item.fresh = tensor.pending.output == nullptr;
    }
    work.items.push_back(item);
    work.bytes += bytes;
  }
  const move::LocalTurn turn(*context_.team, bucket_, *context_.members);
  machine_ = is_adasum() ? move::make_local_adasum(turn, std::move(work))
                         : move::make_local_allreduce(turn, std::move(work));
  return {};
}

Status BucketRun::start_local_tensor(std::size_t index) {
  current_ = index;
  Tensor& tensor = tensors_[index];
  const Request& request = *tensor.request;
  const move::LocalTurn turn(*context_.team, bucket_, *context_.members, index);
  if (request.kind == Collective::barrier) {
    machine_ = move::make_local_barrier(turn);
    return {};
  }
  UNISONO_CHECK(!tensor.absent());
  const Members& members = *context_.members;
  const int n = members.count();
  const auto me = static_cast<std::size_t>(members.me);
  if (request.kind == Collective::alltoall && tensor.counts.empty()) {
    if (request.uneven) return start_counts(tensor);
    fill_equal_counts(tensor);
  }
  const std::span<const std::byte> in(bytes_of(tensor.pending.input),
                                      tensor.pending.request.bytes());
  if (request.kind == Collective::broadcast) {
    tensor.out_shape = request.shape;
    if (tensor.pending.output == nullptr) {
      if (auto status = own_result(tensor, in.size()); !status) return status;
    }
    auto* target = tensor.pending.output != nullptr ? static_cast<std::byte*>(tensor.pending.output)
                                                    : tensor.pending.ticket->result.get();
    machine_ =
        move::make_local_broadcast(turn, members.index_of(request.root), in, {target, in.size()});
    return {};
  }

  const std::size_t row = row_bytes(request);
  move::Extents parts;
  std::vector<std::size_t> matrix;
  std::int64_t rows = 0;
  if (request.kind == Collective::allgather) {
    parts = to_bytes(*tensor.extents, row);
    rows = std::accumulate(tensor.extents->begin(), tensor.extents->end(), std::int64_t{0});
  } else if (request.kind == Collective::reducescatter) {
    const auto shares = divide_rows(request.shape[0], n);
    parts = to_bytes(shares, row);
    rows = shares[me];
  } else {
    matrix = to_bytes(tensor.counts, row);
    for (std::size_t sender = 0; sender < static_cast<std::size_t>(n); ++sender) {
      tensor.out_splits.push_back(tensor.counts[sender * static_cast<std::size_t>(n) + me]);
      rows += tensor.out_splits.back();
    }
  }
  tensor.out_shape = with_rows(request.shape, rows);
  if (auto status = own_result(tensor, static_cast<std::size_t>(rows) * row); !status)
    return status;
  const std::span<std::byte> out(tensor.pending.ticket->result.get(),
                                 static_cast<std::size_t>(rows) * row);
  if (request.kind == Collective::allgather) {
    machine_ = move::make_local_allgather(turn, in, std::move(parts), out);
  } else if (request.kind == Collective::alltoall) {
    machine_ = move::make_local_alltoall(turn, in, std::move(matrix), out);
  } else {
    move::LocalReduction work = local_reduction(tensor);
    work.items.push_back({in.data(), nullptr, 0, in.size()});
    work.bytes = in.size();
    machine_ = move::make_local_reducescatter(turn, std::move(work), std::move(parts), out);
  }
  return {};
}

}  // namespace unisono::run
