// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the kinds of allreduce have in common: a codec, and the dtype in which the bucket is
// reduced.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "encode/codec.hpp"
#include "run/bucket_run.hpp"
#include "run/kinds/kinds.hpp"

namespace unisono::run {

struct TensorPlace {
  const void* input;
  const void* output;
  std::size_t bytes;
};

// Whether an output overlaps an input, or another output, without both being the same tensor in
// place: a result would land on elements that have yet to be read. What is only read may overlap.
inline bool some_overlap(const std::vector<TensorPlace>& tensors) {
  struct Range {
    std::uintptr_t begin, end;
    bool written;                           // an output, or an input in place
    bool operator<(const Range& other) const { return begin < other.begin; }
  };
  std::vector<Range> ranges;
  ranges.reserve(2 * tensors.size());
  for (const TensorPlace& tensor : tensors) {
    const auto in = reinterpret_cast<std::uintptr_t>(tensor.input);
    const auto out = reinterpret_cast<std::uintptr_t>(tensor.output);
    ranges.push_back({in, in + tensor.bytes, out == in});
    if (out != in) ranges.push_back({out, out + tensor.bytes, true});
  }
  std::sort(ranges.begin(), ranges.end());
  std::uintptr_t written_to = 0, used_to = 0;
  for (const Range& range : ranges) {
    if (range.begin < (range.written ? used_to : written_to)) return true;
    if (range.written) written_to = std::max(written_to, range.end);
    used_to = std::max(used_to, range.end);
  }
  return false;
}

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
