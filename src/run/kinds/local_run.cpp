// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An allreduce whose members all share memory: the machine reads and writes the callers' tensors
// itself, through a codec where the bucket is reduced in another dtype.
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
        item.fresh = tensor.pending.output == nullptr;
      }
      work.items.push_back(item);
      work.bytes += bytes;
    }
    const move::LocalTurn turn(*context_.team, bucket_, *context_.members);
    use(bucket_.op == ReduceOp::adasum ? move::make_local_adasum(turn, std::move(work))
                                       : move::make_local_allreduce(turn, std::move(work)));
    return {};
  }

 private:
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
};

}  // namespace

std::unique_ptr<BucketRun> make_local_run(RunParts parts, const encode::Codec& codec) {
  return std::make_unique<LocalRun>(std::move(parts.bucket), std::move(parts.pendings),
                                    parts.context, codec);
}

}  // namespace unisono::run
