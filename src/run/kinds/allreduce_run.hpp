// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the kinds of allreduce have in common: a codec, and the dtype in which the bucket is
// reduced.
#pragma once

#include "encode/codec.hpp"
#include "run/bucket_run.hpp"
#include "run/kinds/kinds.hpp"

namespace unisono::run {

class AllreduceRun : public BucketRun {
 public:
  AllreduceRun(Bucket bucket, std::vector<Pending> pendings, RunContext context,
               const encode::Codec& codec)
      : BucketRun(std::move(bucket), std::move(pendings), context),
        codec_(codec),
        wire_(codec.wire_dtype(bucket_.dtype)) {}

 protected:
  std::size_t wire_bytes(const Tensor& tensor) const {
    return codec_.wire_bytes(bucket_.dtype, static_cast<std::size_t>(tensor.request->elements()));
  }
  // The output is the caller's memory; where none was given the ticket owns one.
  Status prepare_output(Tensor& tensor) {
    tensor.out_shape = tensor.request->shape;
    tensor.out_count = static_cast<std::size_t>(tensor.request->elements());
    if (tensor.absent() || tensor.pending.output != nullptr) return {};
    return own_result(tensor, tensor.request->bytes());
  }

  const encode::Codec& codec_;
  const DType wire_;
};

// Over messages: the tensors, or those that need it, travel encoded in one buffer of the engine.
class EncodedRun : public AllreduceRun {
 public:
  EncodedRun(RunParts parts, const encode::Codec& codec)
      : AllreduceRun(std::move(parts.bucket), std::move(parts.pendings), parts.context, codec),
        choice_(parts.choice) {}

 protected:
  void give_buffers_back() override { context_.buffers->give_back(std::move(fused_)); }
  // Where each tensor lies in the buffer, and who owns its result.
  Status place_results();
  // Elements [first, first + count) of a tensor into or out of the buffer.
  encode::EncodePart encode_part(const Tensor& tensor, std::size_t first, std::size_t count,
                                 std::size_t offset) const;
  encode::DecodePart decode_part(const Tensor& tensor, std::size_t first, std::size_t count,
                                 std::size_t offset) const;

  const Choice choice_;
  BufferPool::Buffer fused_;
  std::size_t fused_bytes_ = 0;             // of place_results(); votes follow in a FusedRun
};

}  // namespace unisono::run
