// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An allreduce over messages from and into the callers' memory: a large tensor is a region of its
// own and is neither packed nor unpacked; small ones, between which a frame each would cost more
// than the copy, share regions in a buffer of the engine.
// A region that must not or cannot be the caller's memory is in the buffer as well, which the other
// members do not notice: a tensor that is scaled first or overlaps its output, one of a rank that
// has joined, and an output that must be whole or untouched (keep_inputs).
#include <cstdint>
#include <cstring>
#include <vector>

#include "run/kinds/allreduce_run.hpp"
#include "run/kinds/kinds.hpp"

namespace unisono::run {
namespace {

// All members must draw this line alike, so it depends on nothing but the size of the tensor.
constexpr std::size_t kAloneBytes = 64 << 10;

class DirectRun final : public EncodedRun {
 public:
  using EncodedRun::EncodedRun;

  Status start() override {
    // The buffer holds the machine's scratch, then what is not in the callers' memory.
    const std::size_t scratch = move::direct_scratch_bytes(context_.members->count());
    std::size_t bytes = scratch;
    for (Tensor& tensor : tensors_) {
      if (auto status = prepare_output(tensor); !status) return status;
    }
    overlaps_ = large_overlap();
    for (Tensor& tensor : tensors_) {
      tensor.offset = bytes;
      if (!is_alone(tensor) || encodes(tensor) || stages(tensor)) bytes += wire_bytes(tensor);
    }
    if (auto status = take_buffer(fused_, bytes); !status) return status;
    move::DirectWork work{.dtype = wire_, .op = bucket_.op, .scratch = fused_.first(scratch)};
    if (votes()) work.vote = bucket_.responses.front().vote;
    bool packing = false;                   // the last region is one of small tensors
    for (const Tensor& tensor : tensors_) {
      if (!is_alone(tensor)) {
        encode(tensor);
        if (!packing) work.regions.push_back({.in = {at(tensor), 0}, .out = {at(tensor), 0}});
        packing = true;
        move::Region& region = work.regions.back();
        region.out = {region.out.data(), region.out.size() + wire_bytes(tensor)};
        region.in = region.out;
        continue;
      }
      packing = false;
      if (encodes(tensor)) encode(tensor);
      const auto* input = static_cast<const std::byte*>(tensor.pending.input);
      const std::size_t length = wire_bytes(tensor);
      work.regions.push_back(
          {.in = {encodes(tensor) ? at(tensor) : input, length},
           .out = {stages(tensor) ? at(tensor) : static_cast<std::byte*>(output_of(tensor)),
                   length},
           .divisor = divided_by(tensor),
           .postscale = tensor.request->postscale});
    }
    run_chosen(move::make_allreduce_from_regions(next_context(), std::move(work)), choice_);
    return {};
  }

 private:
  bool is_alone(const Tensor& tensor) const { return wire_bytes(tensor) >= kAloneBytes; }
  // Whether the contribution of a large tensor is in the buffer, and whether its result comes there.
  bool encodes(const Tensor& tensor) const {
    return tensor.absent() || tensor.request->prescale != 1.0 || overlaps_;
  }

  // Rare enough that all inputs are copied then. Small tensors are copied before anything is
  // received, and written when all is.
  bool large_overlap() const {
    std::vector<TensorPlace> places;
    for (const Tensor& tensor : tensors_) {
      if (tensor.absent() || !is_alone(tensor)) continue;
      places.push_back({tensor.pending.input, output_of(tensor), wire_bytes(tensor)});
    }
    return some_overlap(places);
  }
  bool stages(const Tensor& tensor) const { return tensor.absent() || keeps(tensor); }

  std::byte* at(const Tensor& tensor) const { return fused_.memory.get() + tensor.offset; }
  std::int64_t divided_by(const Tensor& tensor) const {
    return bucket_.op == ReduceOp::average ? divisor(tensor) : 1;
  }
  void encode(const Tensor& tensor) const {
    codec_.encode(encode_part(tensor, 0, tensor.out_count, tensor.offset));
  }

  void deliver() override {
    for (const Tensor& tensor : tensors_) {
      if (tensor.absent() || tensor.out_count == 0) continue;
      if (!is_alone(tensor)) {
        codec_.decode(decode_part(tensor, 0, tensor.out_count, tensor.offset));
      } else if (keeps(tensor)) {
        std::memcpy(output_of(tensor), at(tensor), wire_bytes(tensor));
      }
    }
  }
  bool spares_output(const Tensor& tensor) const override {
    return !is_alone(tensor) || keeps(tensor);
  }
  bool overlaps_ = false;                   // some input and some output of large tensors
};

}  // namespace

std::unique_ptr<BucketRun> make_direct_run(RunParts parts, const encode::Codec& codec) {
  return std::make_unique<DirectRun>(std::move(parts), codec);
}

}  // namespace unisono::run
