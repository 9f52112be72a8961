// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A bucket whose tensors move one after the other, each by a machine of its own: everything but
// allreduce.
//
// How an alltoall learns who sends how many rows to whom: the order agrees on the rows of every
// member, n numbers; equal parts follow from those. Uneven parts travel with the data, in a small
// collective before the rows. Which of them, and whether it runs at all, follows from what all
// members know alike.
#pragma once

#include "run/bucket_run.hpp"
#include "run/collective_geometry.hpp"

namespace unisono::run {

class TensorRun : public BucketRun {
 public:
  using BucketRun::BucketRun;

  Status start() final { return start_tensor(); }
  move::Step step() final;
  const Status& trouble() const final { return trouble_.ok() ? BucketRun::trouble() : trouble_; }

 protected:
  // Starts a machine for the current tensor, whose counts are known when it is an alltoall.
  virtual Status start_current(Tensor& tensor) = 0;
  // Starts a machine that brings the counts of an uneven alltoall to tensor.counts; tensor.splits
  // is this member's part of them.
  virtual Status start_counts(Tensor& tensor) = 0;
  // How many numbers of each sender tensor.counts holds.
  virtual std::size_t counts_each() const = 0;

  Tensor& current() { return tensors_[current_]; }
  std::size_t current_index() const { return current_; }
  std::size_t members() const { return static_cast<std::size_t>(context_.members->count()); }
  static std::span<const std::int64_t> extents_of(const Tensor& tensor) {
    return tensor.extents == nullptr ? std::span<const std::int64_t>() : *tensor.extents;
  }
  // The ticket owns the result, which has the shape that the geometry says.
  Status own_rows(Tensor& tensor, CollectiveGeometry& geometry);

 private:
  bool is_last_machine() const final { return !counting_ && current_ + 1 == tensors_.size(); }
  Status start_tensor();
  Status start_next();
  void fill_equal_counts(Tensor& tensor) const;
  void take_splits(Tensor& tensor) const;
  Status check_counts(const Tensor& tensor) const;

  std::size_t current_ = 0;
  bool counting_ = false;                   // the machine moves counts, not yet rows
  Status trouble_;                          // starting a later machine failed
};

}  // namespace unisono::run
