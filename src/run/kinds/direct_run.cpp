// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An allreduce over messages from and into the callers' memory: a large tensor is a region of its
// own and is neither packed nor unpacked; small ones, between which a frame each would cost more
// than the copy, share regions in a buffer of the engine.
// A region that must not or cannot be the caller's memory is in the buffer as well, which the other
// members do not notice: a tensor that is scaled first or overlaps its output, one of a rank that
// has joined, and an output that must be whole or untouched (keep_inputs).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "run/kinds/allreduce_run.hpp"
#include "run/kinds/kinds.hpp"

namespace unisono::run {
namespace {

// All members must draw this line alike, so it depends on nothing but the size of the tensor.
constexpr std::size_t kAloneBytes = 64 << 10;

class DirectRun final : public AllreduceRun {
 public:
  using AllreduceRun::AllreduceRun;

  Status start() override {
    const std::size_t scratch = move::direct_scratch_bytes(context_.members->count());
    std::size_t bytes = scratch;
    for (Tensor& tensor : tensors_) {
      if (auto status = prepare_output(tensor); !status) return status;
    }
    overlaps_ = some_overlap();
    for (Tensor& tensor : tensors_) {
      tensor.offset = bytes;
      if (!is_alone(tensor) || encodes(tensor) || stages(tensor)) bytes += wire_bytes(tensor);
    }
    if (auto status = take_buffer(buffer_, bytes); !status) return status;
    move::DirectWork work{.dtype = wire_, .op = bucket_.op, .scratch = buffer_.first(scratch)};
    if (planned()) work.vote = bucket_.responses.front().vote;
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
    machine_ = move::make_allreduce_from_regions(next_context(), std::move(work));
    return {};
  }

 private:
  bool is_alone(const Tensor& tensor) const { return wire_bytes(tensor) >= kAloneBytes; }
  // Whether the contribution of a large tensor is in the buffer, and whether its result comes there.
  bool encodes(const Tensor& tensor) const {
    return tensor.absent() || tensor.request->prescale != 1.0 || overlaps_;
  }

  // Whether an output overlaps an input without both being the same tensor in place: a result would
  // land on elements that have yet to be sent. Rare enough that all inputs are copied then.
  bool some_overlap() const {
    struct Range {
      std::uintptr_t begin, end;
      const Tensor* input_of;               // null: an output
      bool operator<(const Range& other) const { return begin < other.begin; }
    };
    std::vector<Range> ranges;
    for (const Tensor& tensor : tensors_) {
      if (tensor.absent() || tensor.out_count == 0) continue;
      const auto in = reinterpret_cast<std::uintptr_t>(tensor.pending.input);
      const auto out = reinterpret_cast<std::uintptr_t>(output_of(tensor));
      ranges.push_back({in, in + wire_bytes(tensor), &tensor});
      if (out != in) ranges.push_back({out, out + wire_bytes(tensor), nullptr});
    }
    std::sort(ranges.begin(), ranges.end());
    // Inputs may overlap each other unless one of them is an output, too.
    std::uintptr_t written_to = 0, read_to = 0;
    for (const Range& range : ranges) {
      const bool is_written =
          range.input_of == nullptr ||
          range.begin == reinterpret_cast<std::uintptr_t>(output_of(*range.input_of));
      if (range.begin < written_to || (is_written && range.begin < read_to)) return true;
      if (is_written) written_to = std::max(written_to, range.end);
      read_to = std::max(read_to, range.end);
    }
    return false;
  }
  bool stages(const Tensor& tensor) const { return tensor.absent() || keeps(tensor); }
  bool keeps(const Tensor& tensor) const {
    return tensor.pending.keep_inputs || context_.options->keep_inputs;
  }

  std::byte* at(const Tensor& tensor) const { return buffer_.memory.get() + tensor.offset; }
  std::int64_t divided_by(const Tensor& tensor) const {
    return bucket_.op == ReduceOp::average ? divisor(tensor) : 1;
  }
  void encode(const Tensor& tensor) const {
    codec_.encode({.tensor = tensor.request->name,
                   .dtype = bucket_.dtype,
                   .op = bucket_.op,
                   .prescale = tensor.request->prescale,
                   .elements = tensor.absent() ? nullptr : tensor.pending.input,
                   .count = tensor.out_count,
                   .wire = at(tensor)});
  }

  void deliver() override {
    for (const Tensor& tensor : tensors_) {
      if (tensor.absent() || tensor.out_count == 0) continue;
      if (!is_alone(tensor)) {
        codec_.decode({.tensor = tensor.request->name,
                       .dtype = bucket_.dtype,
                       .divisor = divided_by(tensor),
                       .postscale = tensor.request->postscale,
                       .wire = at(tensor),
                       .count = tensor.out_count,
                       .elements = output_of(tensor)});
      } else if (keeps(tensor)) {
        std::memcpy(output_of(tensor), at(tensor), wire_bytes(tensor));
      }
    }
  }
  bool spares_output(const Tensor& tensor) const override {
    return !is_alone(tensor) || keeps(tensor);
  }
  void give_buffers_back() override { context_.buffers->give_back(std::move(buffer_)); }

  bool overlaps_ = false;                   // some input and some output
  BufferPool::Buffer buffer_;               // the machine's scratch, then regions by tensor.offset
};

}  // namespace

std::unique_ptr<BucketRun> make_direct_run(RunParts parts, const encode::Codec& codec) {
  return std::make_unique<DirectRun>(std::move(parts.bucket), std::move(parts.pendings),
                                     parts.context, codec);
}

}  // namespace unisono::run
