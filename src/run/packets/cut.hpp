// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which member adds up which elements of a bucket: blocks that share a scale are dealt out evenly,
// whatever tensor they belong to. Equal on all members. Pure; thread: any.
#pragma once

#include <cstddef>
#include <vector>

#include "encode/packet/values.hpp"
#include "run/packets/exchange.hpp"

namespace unisono::run {

// Neighbouring elements of one tensor, beginning at a multiple of kernels::kQuantiseBucket.
struct TensorPart {
  std::size_t tensor = 0, first = 0, count = 0;
};

class Cut {
 public:
  Cut(const std::vector<PackedTensor>& tensors, std::size_t owners, encode::ValueForm form);

  const std::vector<TensorPart>& parts_of(std::size_t owner) const { return parts_[owner]; }
  // Of all parts of an owner, packed back to back.
  std::size_t bytes_of(std::size_t owner) const { return bytes_[owner]; }
  const move::Extents& bytes() const { return bytes_; }
  std::size_t all_bytes() const;

 private:
  std::vector<std::vector<TensorPart>> parts_;
  move::Extents bytes_;
};

// What a member adds to the sum, tensor by tensor: the residual where there is feedback, with the
// source added to it, else the source as float32. Null for tensors of a rank that has joined.
class Contributions {
 public:
  void take(ExchangeWork& work);
  const float* of(std::size_t tensor) const { return values_[tensor]; }

 private:
  std::vector<std::vector<float>> scratch_;
  std::vector<const float*> values_;
};

// An exchange of all elements in fewer bits, cut among the members.
class CutExchange : public Exchange {
 protected:
  explicit CutExchange(ExchangeWork work)
      : Exchange(std::move(work)),
        form_{work_.codec.form, work_.codec.bits},
        cut_(work_.tensors, work_.n(), form_) {}
  // What the packed sums of an owner say becomes the sums of this member.
  void take_sums(std::size_t owner, const std::byte* packed);

  const encode::ValueForm form_;
  const Cut cut_;
  std::vector<std::byte> packed_;           // parts or sums of all owners, back to back
};

// The random numbers of a tensor in a step; round tells the times apart that it is packed in it.
kernels::QuantiseKey key_of(const PackedTensor& tensor, std::uint32_t round);
// What a residual keeps when `exact` went out as `sent`. Sums that are no numbers are not kept.
void keep_difference(float* residual, const float* exact, const float* sent, std::size_t count);

}  // namespace unisono::run
