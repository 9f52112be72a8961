// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/kinds/tensor_run.hpp"

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "run/row_split.hpp"

namespace unisono::run {

move::Step TensorRun::step() {
  if (!trouble_.ok()) return move::Step::waiting;
  const move::Step step = machine_->step();
  if (step != move::Step::finished || is_last_machine()) return step;
  trouble_ = start_next();
  return move::Step::advanced;
}

// The machine has ended: after counts come the rows of its tensor, after rows the next tensor.
Status TensorRun::start_next() {
  // Reset before anything can fail: an ended machine would claim that its result is whole.
  machine_.reset();
  if (counting_) {
    counting_ = false;
    if (Status status = check_counts(current()); !status) return status;
    return start_current(current());
  }
  ++current_;
  return start_tensor();
}

Status TensorRun::start_tensor() {
  Tensor& tensor = current();
  const bool alltoall = tensor.request->kind == Collective::alltoall;
  UNISONO_CHECK(!tensor.absent() || tensor.request->kind == Collective::barrier);
  if (alltoall && tensor.request->uneven) {
    take_splits(tensor);
    counting_ = true;
    return start_counts(tensor);
  }
  if (alltoall) fill_equal_counts(tensor);
  return start_current(tensor);
}

void TensorRun::fill_equal_counts(Tensor& tensor) const {
  const auto n = static_cast<std::int64_t>(members());
  const std::vector<std::int64_t>& rows = *tensor.extents;
  tensor.splits.assign(members(), rows[static_cast<std::size_t>(context_.members->me)] / n);
  for (const std::int64_t all : rows) {
    tensor.counts.insert(tensor.counts.end(), counts_each(), all / n);
  }
}

void TensorRun::take_splits(Tensor& tensor) const {
  tensor.splits = tensor.pending.splits;
  if (tensor.splits.empty()) {              // equal here, uneven elsewhere
    const std::int64_t rows = (*tensor.extents)[static_cast<std::size_t>(context_.members->me)];
    tensor.splits.assign(members(), rows / static_cast<std::int64_t>(members()));
  }
  UNISONO_CHECK(tensor.splits.size() == members());
}

// What came from elsewhere must fit what was agreed before memory is laid out by it.
Status TensorRun::check_counts(const Tensor& tensor) const {
  const std::vector<std::int64_t>& rows = *tensor.extents;
  const std::size_t each = tensor.counts.size() / rows.size();
  for (std::size_t sender = 0; sender < rows.size(); ++sender) {
    std::int64_t left = rows[sender];
    bool fits = true;
    for (std::size_t i = 0; i < each && fits; ++i) {
      const std::int64_t count = tensor.counts[sender * each + i];
      fits = count >= 0 && count <= left;
      left -= fits ? count : 0;
    }
    if (fits && (each == 1 || left == 0)) continue;
    const Rank rank = context_.members->rank_of(static_cast<int>(sender));
    return Status(Code::corrupted,
                  cat("rank ", rank, " divides the ", rows[sender], " rows of '",
                      tensor.request->name, "' into parts that are not as many; run the same "
                      "version everywhere"),
                  Culprit{rank, {}, 0, tensor.request->name});
  }
  return {};
}

Status TensorRun::own_rows(Tensor& tensor, CollectiveGeometry& geometry) {
  tensor.out_splits = std::move(geometry.splits);
  tensor.out_shape = with_rows(tensor.request->shape, geometry.rows);
  tensor.out_count = geometry.bytes() / size_of(tensor.request->dtype);
  return own_result(tensor, geometry.bytes());
}

}  // namespace unisono::run
