// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An allreduce whose members all share memory: the machine reads and writes the callers' tensors
// itself, through a codec where the bucket is reduced in another dtype. A result that must not land
// in the caller's memory before all of it has come waits in a buffer of the engine: an output that
// must be whole or untouched (keep_inputs), and all of them where some output overlaps some other
// tensor. Memory of the arena, reduced where it is, is never kept.
#include <algorithm>
#include <cstring>
#include <vector>

#include "move/local/local.hpp"
#include "run/kinds/allreduce_run.hpp"
#include "run/kinds/kinds.hpp"
#include "run/kinds/over_memory.hpp"

namespace unisono::run {
namespace {

class LocalRun final : public OverMemory<AllreduceRun> {
 public:
  using OverMemory::OverMemory;

  Status start() override {
    move::LocalReduction work = reduction();
    if (wire_ != bucket_.dtype) work.translation = translation();
    for (Tensor& tensor : tensors_) {
      if (auto status = prepare_output(tensor); !status) return status;
      const std::size_t bytes = wire_bytes(tensor);
      if (bytes == 0) continue;
      move::LocalItem item{
          .source = nullptr, .target = nullptr, .offset = work.bytes, .bytes = bytes};
      if (!tensor.absent()) {
        item.source = static_cast<const std::byte*>(tensor.pending.input);
        item.target = static_cast<std::byte*>(output_of(tensor));
      }
      work.items.push_back(item);
      work.bytes += bytes;
    }
    const move::LocalTurn turn(*context_.team, bucket_, *context_.members);
    if (auto status = stage(work); !status) return status;
    use(bucket_.op == ReduceOp::adasum ? move::make_local_adasum(turn, std::move(work))
                                       : move::make_local_allreduce(turn, std::move(work)));
    return {};
  }

 private:
  // Has results that must wait come into a buffer. work.items are the tensors that are not empty.
  Status stage(move::LocalReduction& work) {
    if (bucket_.op == ReduceOp::adasum || move::is_tiny(work.bytes) ||
        move::is_resident(*context_.team, work)) {
      return {};
    }
    std::vector<TensorPlace> places;
    for (const Tensor& tensor : tensors_) {
      if (!has_output(tensor)) continue;
      places.push_back({tensor.pending.input, tensor.pending.output, tensor.request->bytes()});
    }
    const bool all = some_overlap(places);
    std::size_t bytes = 0;
    for (Tensor& tensor : tensors_) {
      if (!has_output(tensor) || !(all || keeps(tensor))) continue;
      tensor.offset = bytes;
      bytes += (tensor.request->bytes() + kAlignment - 1) / kAlignment * kAlignment;
      staged_.push_back(&tensor);
    }
    if (staged_.empty()) return {};
    if (auto status = take_buffer(buffer_, bytes); !status) return status;
    auto item = work.items.begin();
    for (const Tensor& tensor : tensors_) {
      if (wire_bytes(tensor) == 0) continue;
      if (is_staged(tensor)) item->target = place_of(tensor);
      ++item;
    }
    return {};
  }
  // Whether there is memory of the caller's to write to.
  bool has_output(const Tensor& tensor) const {
    return !tensor.absent() && wire_bytes(tensor) > 0 && tensor.pending.output != nullptr;
  }
  bool is_staged(const Tensor& tensor) const {
    return std::binary_search(staged_.begin(), staged_.end(), &tensor);
  }
  std::byte* place_of(const Tensor& tensor) const { return buffer_.memory.get() + tensor.offset; }

  void deliver() override {
    for (const Tensor* tensor : staged_) {
      std::memcpy(output_of(*tensor), place_of(*tensor), tensor->request->bytes());
    }
  }
  bool spares_output(const Tensor& tensor) const override {
    return tensor.pending.output == nullptr || is_staged(tensor) || local()->keeps_outputs();
  }
  void give_buffers_back() override { context_.buffers->give_back(std::move(buffer_)); }

  move::LocalReduction reduction() const {
    const Tensor& first = tensors_.front();
    return {.dtype = wire_,
            .op = first.request->op,
            .prescale = first.request->prescale,
            .divisor = divisor(first),
            .postscale = first.request->postscale,
            .vote = first.response->vote,
            .translation = {},
            .items = {},
            .bytes = 0};
  }

  // The tensors of a bucket are alike in all that matters here but their names, which none of the
  // codecs that work on parts of a tensor asks for.
  move::Translation translation() const {
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
                  codec_.encode(part);
                },
            .store =
                [=, this](const move::LocalItem& item, std::size_t from, std::size_t bytes,
                          const std::byte* in) {
                  encode::DecodePart part = decode;
                  part.elements = item.target + from / narrow * wide;
                  part.count = bytes / narrow;
                  part.wire = in;
                  codec_.decode(part);
                }};
  }

  static constexpr std::size_t kAlignment = 64;
  BufferPool::Buffer buffer_;
  std::vector<const Tensor*> staged_;       // in the buffer at their offsets; in order of tensors_
};

}  // namespace

std::unique_ptr<BucketRun> make_local_run(RunParts parts, const encode::Codec& codec) {
  return std::make_unique<LocalRun>(std::move(parts.bucket), std::move(parts.pendings),
                                    parts.context, codec);
}

}  // namespace unisono::run
