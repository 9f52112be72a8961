// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Adasum over messages: the buffer holds the members' shares back to back, so that each share
// travels as one; tensors are cut apart while encoded and put together while decoded.
#include "move/adasum/adasum.hpp"
#include "run/kinds/allreduce_run.hpp"
#include "run/kinds/kinds.hpp"

namespace unisono::run {
namespace {

class AdasumRun final : public EncodedRun {
 public:
  using EncodedRun::EncodedRun;

  Status start() override {
    if (auto status = place_results(); !status) return status;
    if (auto status = take_buffer(fused_, fused_bytes_); !status) return status;
    for (const Tensor& tensor : tensors_) counts_.push_back(tensor.out_count);
    for_pieces([&](std::size_t index, move::patterns::Slice slice, std::size_t offset) {
      codec_.encode(encode_part(tensors_[index], slice.begin, slice.count(), offset));
    });
    const move::AdasumContexts contexts{next_context(), next_context(), next_context()};
    machine_ = move::make_adasum(contexts, wire_, counts_, bucket_.responses.front().vote,
                                 fused_.first(fused_bytes_));
    return {};
  }

 private:
  template <typename Body>
  void for_pieces(Body body) const {
    move::adasum::for_pieces(
        counts_, static_cast<std::size_t>(context_.members->count()), size_of(wire_),
        [&](std::size_t, std::size_t index, move::patterns::Slice slice, std::size_t offset) {
          body(index, slice, offset);
        });
  }
  void deliver() override {
    for_pieces([&](std::size_t index, move::patterns::Slice slice, std::size_t offset) {
      const Tensor& tensor = tensors_[index];
      if (tensor.absent() || slice.count() == 0) return;
      codec_.decode(decode_part(tensor, slice.begin, slice.count(), offset));
    });
  }

  std::vector<std::size_t> counts_;         // elements of each tensor
};

}  // namespace

std::unique_ptr<BucketRun> make_adasum_run(RunParts parts, const encode::Codec& codec) {
  return std::make_unique<AdasumRun>(std::move(parts), codec);
}

}  // namespace unisono::run
