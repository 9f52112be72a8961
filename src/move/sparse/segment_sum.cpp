// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/sparse/segment_sum.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"
#include "kernels/kernels.hpp"
#include "model/sparse/stream_bytes.hpp"

namespace unisono::move {

namespace {

// A segment of up to so many elements is always worth its memory; beyond, so many for each that
// comes.
constexpr std::uint64_t kShortSegment = 1 << 22;
constexpr std::uint64_t kElementsForEach = 1024;

bool is_worth_scattering(const SegmentSum::Shape& shape) {
  return shape.length <= kShortSegment || shape.length / kElementsForEach <= shape.expected_nnz;
}

}  // namespace

SegmentSum::SegmentSum(const kernels::Operator& op, const Shape& shape)
    : op_(op), shape_(shape), working_(op.working_dtype(shape.dtype)),
      merged_(working_, shape.length) {
  if (!is_worth_scattering(shape)) return;
  const auto length = static_cast<std::size_t>(shape.length);
  values_.resize(length * size_of(working_));
  present_.resize(kernels::presence_words(length));
  std::fill(present_.begin(), present_.end(), 0);
}

kernels::Accumulators SegmentSum::accumulators() {
  return {working_, static_cast<std::size_t>(shape_.length), values_.data(), present_.data()};
}

std::size_t SegmentSum::count() const {
  if (!scatters()) return merged_.nnz();
  std::size_t count = 0;
  for (const std::uint64_t word : present_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

void SegmentSum::add(const stream::View& view) {
  UNISONO_CHECK(view.length == shape_.length);
  added_ += view.nnz();
  if (!scatters()) {
    if (merged_.nnz() == 0 && !merged_.dense()) {
      merged_ = stream::Stream::copy_of(view, working_);
      return;
    }
    const stream::Stream relative =
        view.pairs.base != 0 ? stream::Stream::copy_of(view) : stream::Stream();
    merged_ = stream::merged(op_, merged_.view(), view.pairs.base != 0 ? relative.view() : view,
                             working_, size_of(shape_.dtype), shape_.dense_multiplier);
    return;
  }
  if (view.dense) return add_dense(view);
  kernels::scatter_reduce(op_, accumulators(), view.pairs);
}

void SegmentSum::fill_the_absent() {
  if (dense_) return;
  dense_ = true;
  const auto length = static_cast<std::size_t>(shape_.length);
  const std::size_t width = size_of(working_);
  // Runs of absent elements, so that a user's function is called seldom.
  for (std::size_t i = 0; i < length;) {
    const std::uint64_t word = present_[i / 64] >> (i % 64);
    if ((word & 1) != 0) {
      i += static_cast<std::size_t>(std::countr_one(word));
      continue;
    }
    std::size_t end = i;
    while (end < length) {
      const std::uint64_t rest = present_[end / 64] >> (end % 64);
      if ((rest & 1) != 0) break;
      const std::size_t zeros = rest == 0 ? 64 : static_cast<std::size_t>(std::countr_zero(rest));
      end = std::min(length, std::min(end + zeros, (end / 64 + 1) * 64));
    }
    kernels::fill_absent(working_, op_, values_.data() + i * width, end - i);
    i = end;
  }
  for (std::size_t i = 0; i < length; i += 64) {
    present_[i / 64] =
        length - i >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (length - i)) - 1;
  }
}

void SegmentSum::add_dense(const stream::View& view) {
  fill_the_absent();
  const auto length = static_cast<std::size_t>(shape_.length);
  if (view.dtype() == working_) {
    return kernels::combine(working_, op_, values_.data(), view.pairs.values, length);
  }
  const stream::Stream wide = stream::Stream::copy_of(view, working_);
  kernels::combine(working_, op_, values_.data(), wide.values().data(), length);
}

stream::Stream SegmentSum::take(DType as, bool want_dense) {
  const std::uint64_t width = size_of(shape_.dtype);
  if (!scatters()) {
    stream::Stream out = merged_.dtype() == as ? std::move(merged_)
                                               : stream::Stream::copy_of(merged_.view(), as);
    if (want_dense || kept_dense(shape_.length, out.nnz(), width, shape_.dense_multiplier)) {
      out.densify(op_);
    }
    return out;
  }
  const std::size_t present = count();
  stream::Stream out(as, shape_.length);
  if (dense_ || want_dense ||
      kept_dense(shape_.length, present, width, shape_.dense_multiplier)) {
    fill_the_absent();
    kernels::cast(as, out.make_dense(), working_, values_.data(),
                  static_cast<std::size_t>(shape_.length));
  } else {
    out.keep(kernels::compact(accumulators(), out.make_room(present)));
  }
  values_ = {};
  present_ = {};
  return out;
}

}  // namespace unisono::move
