// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Adasum over messages: the fused buffer holds the members' shares back to back, so that each share
// travels as one piece; tensors are cut apart while they are encoded and joined while decoded.
#include "run/bucket_run.hpp"
#include "move/adasum/adasum.hpp"

namespace unisono::run {

std::vector<std::size_t> BucketRun::element_counts() const {
  std::vector<std::size_t> counts;
  for (const Tensor& tensor : tensors_) counts.push_back(tensor.out_count);
  return counts;
}

Status BucketRun::start_adasum() {
  if (auto status = place_results(); !status) return status;
  if (auto status = take_buffer(fused_, fused_bytes_); !status) return status;
  const auto counts = element_counts();
  const auto members = static_cast<std::size_t>(context_.members->count());
  move::adasum::for_pieces(
      counts, members, size_of(wire_),
      [&](std::size_t, std::size_t index, move::patterns::Slice slice, std::size_t offset) {
        codec_->encode(encode_part(tensors_[index], slice.begin, slice.count(), offset));
      });
  const move::AdasumContexts contexts{next_context(), next_context(), next_context()};
  machine_ = move::make_adasum(contexts, wire_, counts, bucket_.responses.front().vote,
                         fused_.first(fused_bytes_));
  return {};
}

void BucketRun::finish_adasum() {
  const auto members = static_cast<std::size_t>(context_.members->count());
  move::adasum::for_pieces(
      element_counts(), members, size_of(wire_),
      [&](std::size_t, std::size_t index, move::patterns::Slice slice, std::size_t offset) {
        const Tensor& tensor = tensors_[index];
        if (tensor.absent() || slice.count() == 0) return;
        codec_->decode(decode_part(tensor, slice.begin, slice.count(), offset));
      });
}

}  // namespace unisono::run
