// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The reduction of one segment at one place: contributions are added in member order, scattered
// into a dense segment with a bitmap, which is compacted at the end. A segment that is far longer
// than what comes would take more memory than it is worth; there the contributions are merged one
// after the other.
// Thread: the one that drives the engine.
#pragma once

#include <cstdint>

#include "stream/stream.hpp"

namespace unisono::move {

class SegmentSum {
 public:
  struct Shape {
    DType dtype = DType::f32;               // of the result
    std::uint64_t length = 0;
    double dense_multiplier = 1.0;
    std::uint64_t expected_nnz = 0;         // of all contributions, roughly
  };
  SegmentSum(const kernels::Operator& op, const Shape& shape);

  // The view's indices count from the beginning of the segment.
  void add(const stream::View& view);
  // How many elements are there, and whether one was added twice; where nothing dense came.
  std::size_t count() const;
  bool overlapped() const { return count() < added_; }
  // Dense from kept_dense() on, if something that came was dense, or if wanted. as: the result's
  // dtype, or partials. The last call.
  stream::Stream take(DType as, bool want_dense = false);

 private:
  bool scatters() const { return !present_.empty() || shape_.length == 0; }
  void add_dense(const stream::View& view);
  void fill_the_absent();
  kernels::Accumulators accumulators();

  const kernels::Operator op_;
  const Shape shape_;
  const DType working_;
  stream::Array<std::byte> values_;
  stream::Array<std::uint64_t> present_;
  stream::Stream merged_;                   // where nothing is scattered
  std::size_t added_ = 0;
  bool dense_ = false;                      // all are present
};

}  // namespace unisono::move
