// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An allreduce over messages: all tensors of the bucket back to back in one buffer, one machine.
#include "run/kinds/allreduce_run.hpp"
#include "run/kinds/kinds.hpp"
#include "run/kinds/vote_flags.hpp"

namespace unisono::run {

Status EncodedRun::place_results() {
  for (Tensor& tensor : tensors_) {
    tensor.offset = fused_bytes_;
    fused_bytes_ += wire_bytes(tensor);
    if (auto status = prepare_output(tensor); !status) return status;
  }
  return {};
}

encode::EncodePart EncodedRun::encode_part(const Tensor& tensor, std::size_t first,
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

encode::DecodePart EncodedRun::decode_part(const Tensor& tensor, std::size_t first,
                                          std::size_t count, std::size_t offset) const {
  return {.tensor = tensor.request->name,
          .dtype = bucket_.dtype,
          .divisor = bucket_.op == ReduceOp::average ? divisor(tensor) : 1,
          .postscale = tensor.request->postscale,
          .wire = fused_.memory.get() + offset,
          .count = count,
          .elements = static_cast<std::byte*>(output_of(tensor)) + first * size_of(bucket_.dtype)};
}

namespace {

class FusedRun final : public EncodedRun {
 public:
  using EncodedRun::EncodedRun;

  Status start() override {
    if (auto status = place_results(); !status) return status;
    const std::size_t all = fused_bytes_ + (votes() ? kVoteFlags * size_of(wire_) : 0);
    if (auto status = take_buffer(fused_, all); !status) return status;
    for (const Tensor& tensor : tensors_) {
      codec_.encode(encode_part(tensor, 0, tensor.out_count, tensor.offset));
    }
    if (votes()) {
      put_vote(bucket_.responses.front().vote, wire_, bucket_.op,
               fused_.memory.get() + fused_bytes_);
    }
    run_chosen(move::make_allreduce(choice_.algorithm, next_context(), wire_, bucket_.op,
                                    fused_.first(all)),
               choice_);
    return {};
  }

 private:
  void deliver() override {
    for (const Tensor& tensor : tensors_) {
      if (tensor.absent() || tensor.out_count == 0) continue;
      codec_.decode(decode_part(tensor, 0, tensor.out_count, tensor.offset));
    }
  }
  PlanVote moved_vote() const override {
    return get_vote(wire_, bucket_.op, fused_.memory.get() + fused_bytes_);
  }
};

}  // namespace

std::unique_ptr<BucketRun> make_fused_run(RunParts parts, const encode::Codec& codec) {
  return std::make_unique<FusedRun>(std::move(parts), codec);
}

}  // namespace unisono::run
