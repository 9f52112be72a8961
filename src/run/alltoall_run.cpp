// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How an alltoall learns who gives how many rows to whom. The order agrees on the rows of every
// member, n numbers; equal parts follow from those. Uneven parts travel with the data, in a small
// collective before the rows: an alltoall of counts between hosts, which gives each member what it
// receives, and an allgather of splits in shared memory, where each must know where its rows lie.
// Which of them, and whether it runs at all, follows from what all members know alike.
#include <numeric>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "run/bucket_run.hpp"

namespace unisono::run {
namespace {

std::span<const std::byte> bytes_of(const std::vector<std::int64_t>& numbers) {
  return std::as_bytes(std::span(numbers));
}

}  // namespace

void BucketRun::fill_equal_counts(Tensor& tensor) const {
  const auto n = static_cast<std::int64_t>(context_.members->count());
  const std::vector<std::int64_t>& rows = *tensor.extents;
  tensor.splits.assign(static_cast<std::size_t>(n),
                       rows[static_cast<std::size_t>(context_.members->me)] / n);
  for (const std::int64_t all : rows) {
    tensor.counts.insert(tensor.counts.end(),
                         context_.team != nullptr ? static_cast<std::size_t>(n) : 1, all / n);
  }
}

Status BucketRun::start_counts(Tensor& tensor) {
  const auto n = static_cast<std::size_t>(context_.members->count());
  tensor.splits = tensor.pending.splits;
  if (tensor.splits.empty()) {              // equal here, uneven elsewhere
    const std::int64_t rows = (*tensor.extents)[static_cast<std::size_t>(context_.members->me)];
    tensor.splits.assign(n, rows / static_cast<std::int64_t>(n));
  }
  UNISONO_CHECK(tensor.splits.size() == n);
  counting_ = true;
  constexpr std::size_t kNumber = sizeof(std::int64_t);
  if (context_.team != nullptr) {
    tensor.counts.resize(n * n);
    // A turn of its own, past those of the tensors themselves.
    const move::LocalTurn turn(*context_.team, bucket_, *context_.members,
                               tensors_.size() + current_);
    machine_ =
        move::make_local_allgather(turn, bytes_of(tensor.splits), move::Extents(n, n * kNumber),
                                   std::as_writable_bytes(std::span(tensor.counts)));
  } else {
    tensor.counts.resize(n);
    machine_ = move::make_alltoall(
        next_context(), bytes_of(tensor.splits), move::Extents(n, kNumber),
        std::as_writable_bytes(std::span(tensor.counts)), move::Extents(n, kNumber));
  }
  return {};
}

// What came from elsewhere must fit what was agreed before memory is laid out by it.
Status BucketRun::check_counts(const Tensor& tensor) const {
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

// The machine has ended: its tensor's rows follow their counts, or the next tensor.
Status BucketRun::start_next() {
  // Gone before anything can fail: an ended machine would say that the result it stands for is whole.
  machine_.reset();
  if (counting_) {
    counting_ = false;
    if (Status status = check_counts(tensors_[current_]); !status) return status;
  } else {
    ++current_;
  }
  return context_.team != nullptr ? start_local_tensor(current_) : start_tensor(current_);
}

}  // namespace unisono::run
