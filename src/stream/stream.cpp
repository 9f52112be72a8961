// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "stream/stream.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/check.hpp"
#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "model/sparse/stream_bytes.hpp"

namespace unisono::stream {

namespace {

const std::byte* behind(const void* values, DType dtype, std::size_t elements) {
  return static_cast<const std::byte*>(values) + elements * size_of(dtype);
}

template <typename I>
std::size_t first_from(const I* indices, std::size_t count, std::uint64_t index) {
  return static_cast<std::size_t>(std::lower_bound(indices, indices + count, index) - indices);
}

template <typename To, typename From>
void copy_relative(To* to, const From* from, std::size_t count, std::uint64_t base) {
  if constexpr (std::is_same_v<To, From>) {
    if (base == 0) {
      if (count != 0) std::memcpy(to, from, count * sizeof(To));
      return;
    }
  }
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i] - base);
}

}  // namespace

View View::slice(std::uint64_t begin, std::uint64_t end) const {
  UNISONO_CHECK(begin <= end && end <= length);
  View out = *this;
  out.length = end - begin;
  std::size_t first = static_cast<std::size_t>(begin), last = static_cast<std::size_t>(end);
  if (!dense) {
    const std::uint64_t base = pairs.base;
    if (pairs.count == 0) {
      first = last = 0;
    } else if (pairs.narrow != nullptr) {
      first = first_from(pairs.narrow, pairs.count, begin + base);
      last = first_from(pairs.narrow, pairs.count, end + base);
      out.pairs.narrow += first;
    } else {
      first = first_from(pairs.wide, pairs.count, begin + base);
      last = first_from(pairs.wide, pairs.count, end + base);
      out.pairs.wide += first;
    }
    out.pairs.base = base + begin;
  }
  out.pairs.count = last - first;
  if (pairs.values != nullptr) out.pairs.values = behind(pairs.values, pairs.dtype, first);
  return out;
}

View Stream::view() const {
  View out;
  out.length = length_;
  out.dense = dense_;
  out.pairs.dtype = dtype_;
  out.pairs.count = nnz();
  if (!dense_ && wide()) out.pairs.wide = wide_.data();
  if (!dense_ && !wide()) out.pairs.narrow = narrow_.data();
  out.pairs.values = values_.data();
  return out;
}

Result<Stream> Stream::from_pairs(DType dtype, std::uint64_t length,
                                  std::span<const std::uint64_t> indices, const void* values,
                                  const kernels::Operator& op) {
  if (length > kStreamLengthMax) {
    return Status(Code::invalid_argument, cat("a sparse stream of ", length, " elements is longer "
                                              "than the ", kStreamLengthMax, " that fit"));
  }
  const bool in_order = std::adjacent_find(indices.begin(), indices.end(),
                                           std::greater_equal<>()) == indices.end();
  if (in_order && (indices.empty() || indices.back() < length)) {
    View view;
    view.length = length;
    view.pairs = {.dtype = dtype, .count = indices.size(), .wide = indices.data(),
                  .values = values};
    return copy_of(view);
  }
  std::vector<std::size_t> order(indices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return indices[a] < indices[b]; });
  if (indices[order.back()] >= length) {
    return Status(Code::invalid_argument,
                  cat("index ", indices[order.back()], " of a sparse stream is beyond its ", length,
                      " elements"));
  }
  // Duplicates are summed as members' contributions are, and rounded once.
  const DType working = op.working_dtype(dtype);
  Stream sums(working, length);
  const kernels::PairsOut room = sums.make_room(indices.size());
  auto* const to = static_cast<std::byte*>(room.values);
  const std::size_t width = size_of(working);
  std::size_t count = 0;
  for (const std::size_t from : order) {
    alignas(8) std::byte value[8];
    kernels::cast(working, value, dtype, behind(values, dtype, from), 1);
    if (count > 0 && sums.index(count - 1) == indices[from]) {
      kernels::combine(working, op, to + (count - 1) * width, value, 1);
      continue;
    }
    if (room.wide != nullptr) room.wide[count] = indices[from];
    else room.narrow[count] = static_cast<std::uint32_t>(indices[from]);
    std::memcpy(to + count * width, value, width);
    ++count;
  }
  sums.keep(count);
  return working == dtype ? std::move(sums) : copy_of(sums.view(), dtype);
}

Stream Stream::from_dense(DType dtype, std::uint64_t length, const void* values) {
  Stream out(dtype, length);
  std::byte* to = out.make_dense();
  if (length != 0) std::memcpy(to, values, out.values_.size());
  return out;
}

Stream Stream::copy_of(const View& view, DType dtype) {
  Stream out(dtype, view.length);
  const kernels::Pairs& in = view.pairs;
  if (view.dense) {
    kernels::cast(dtype, out.make_dense(), in.dtype, in.values, in.count);
    return out;
  }
  const kernels::PairsOut room = out.make_room(in.count);
  if (room.wide != nullptr && in.wide != nullptr) {
    copy_relative(room.wide, in.wide, in.count, in.base);
  } else if (room.wide != nullptr) {
    copy_relative(room.wide, in.narrow, in.count, in.base);
  } else if (in.wide != nullptr) {
    copy_relative(room.narrow, in.wide, in.count, in.base);
  } else {
    copy_relative(room.narrow, in.narrow, in.count, in.base);
  }
  kernels::cast(dtype, room.values, in.dtype, in.values, in.count);
  out.keep(in.count);
  return out;
}

void Stream::densify(const kernels::Operator& op) {
  if (dense_) return;
  Stream whole(dtype_, length_);
  std::byte* to = whole.make_dense();
  kernels::fill_absent(dtype_, op, to, static_cast<std::size_t>(length_));
  const std::size_t width = size_of(dtype_);
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint64_t at = wide() ? wide_[i] : narrow_[i];
    std::memcpy(to + at * width, values_.data() + i * width, width);
  }
  *this = std::move(whole);
}

void Stream::sparsify(const kernels::Operator& op) {
  if (!dense_) return;
  const std::size_t width = size_of(dtype_);
  alignas(8) std::byte absent[8];
  kernels::fill_absent(dtype_, op, absent, 1);
  const auto n = static_cast<std::size_t>(length_);
  const auto is_there = [&](std::size_t i) {
    return std::memcmp(values_.data() + i * width, absent, width) != 0;
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += is_there(i) ? 1 : 0;
  Stream few(dtype_, length_);
  const kernels::PairsOut room = few.make_room(count);
  count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_there(i)) continue;
    if (room.wide != nullptr) room.wide[count] = i;
    else room.narrow[count] = static_cast<std::uint32_t>(i);
    std::memcpy(static_cast<std::byte*>(room.values) + count * width, values_.data() + i * width,
                width);
    ++count;
  }
  few.keep(count);
  *this = std::move(few);
}

kernels::PairsOut Stream::make_room(std::size_t capacity) {
  dense_ = false;
  count_ = capacity;
  kernels::PairsOut out;
  out.dtype = dtype_;
  out.capacity = capacity;
  if (wide()) {
    wide_.resize(capacity);
    out.wide = wide_.data();
  } else {
    narrow_.resize(capacity);
    out.narrow = narrow_.data();
  }
  values_.resize(capacity * size_of(dtype_));
  out.values = values_.data();
  return out;
}

void Stream::keep(std::size_t count) {
  UNISONO_CHECK(!dense_ && count <= count_);
  count_ = count;
  (wide() ? wide_.resize(count) : narrow_.resize(count));
  values_.resize(count * size_of(dtype_));
}

std::byte* Stream::make_dense() {
  dense_ = true;
  count_ = 0;
  narrow_.clear();
  wide_.clear();
  values_.resize(static_cast<std::size_t>(length_) * size_of(dtype_));
  return values_.data();
}

bool same(const Stream& a, const Stream& b) {
  if (a.dtype() != b.dtype() || a.length() != b.length() || a.dense() != b.dense() ||
      a.nnz() != b.nnz()) {
    return false;
  }
  const auto left = a.values(), right = b.values();
  if (!std::equal(left.begin(), left.end(), right.begin(), right.end())) return false;
  if (a.dense()) return true;
  for (std::size_t i = 0; i < a.nnz(); ++i) {
    if (a.index(i) != b.index(i)) return false;
  }
  return true;
}

std::uint64_t support_hash(const View& view) {
  std::uint64_t hash = hash_bytes(std::as_bytes(std::span(&view.length, 1)), view.dense ? 1 : 0);
  if (view.dense || view.nnz() == 0) return hash;
  const kernels::Pairs& in = view.pairs;
  if (in.base == 0 && in.narrow != nullptr) {
    return hash_bytes(std::as_bytes(std::span(in.narrow, in.count)), hash);
  }
  // As if the indices were relative and as narrow as they may be.
  for (std::size_t i = 0; i < in.count;) {
    std::uint64_t block[64];
    std::size_t n = 0;
    for (; n < 64 && i < in.count; ++n, ++i) block[n] = view.index(i);
    hash = hash_bytes(std::as_bytes(std::span(block, n)), hash);
  }
  return hash;
}

}  // namespace unisono::stream
