// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A sparse stream: some elements of a long vector, as an array of indices and an array of values.
// Indices are strictly increasing, 32 bits wide, or 64 where the vector has more than 2^32
// elements. What is absent counts as the neutral element of the operator; explicit zeros are
// elements like others. Where pairs would take more than the vector itself a stream is dense: all
// values, no indices.
// Thread: one at a time. A View points into the memory of others, a Stream owns its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/sparse/sparse.hpp"
#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono::stream {

// A vector that does not clear what will be written anyway.
template <typename T>
struct Uninitialised : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = Uninitialised<U>;
  };
  Uninitialised() = default;
  template <typename U>
  Uninitialised(const Uninitialised<U>&) {}  // NOLINT: allocators convert
  template <typename U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};
template <typename T>
using Array = std::vector<T, Uninitialised<T>>;

struct View {
  std::uint64_t length = 0;                 // of the segment that indices, less their base, are in
  bool dense = false;                       // pairs has length values and no indices
  kernels::Pairs pairs;

  DType dtype() const { return pairs.dtype; }
  std::size_t nnz() const { return pairs.count; }
  std::uint64_t index(std::size_t i) const { // within the segment
    if (dense) return i;
    return (pairs.narrow != nullptr ? pairs.narrow[i] : pairs.wide[i]) - pairs.base;
  }
  // Elements [begin, end) of the segment, as a segment of its own. Copies nothing.
  View slice(std::uint64_t begin, std::uint64_t end) const;
};

class Stream {
 public:
  Stream() = default;
  // Nothing is there.
  Stream(DType dtype, std::uint64_t length) : dtype_(dtype), length_(length) {}

  // Sorts, and combines values of one index in the order they stand. Refuses an index beyond the
  // length. indices.size() values.
  static Result<Stream> from_pairs(DType dtype, std::uint64_t length,
                                   std::span<const std::uint64_t> indices, const void* values,
                                   const kernels::Operator& op = {});
  static Stream from_dense(DType dtype, std::uint64_t length, const void* values);
  // Another dtype than the view's only where one is float32 partials of the other: rounds.
  static Stream copy_of(const View& view, DType dtype);
  static Stream copy_of(const View& view) { return copy_of(view, view.dtype()); }

  DType dtype() const { return dtype_; }
  std::uint64_t length() const { return length_; }
  bool dense() const { return dense_; }
  bool wide() const { return length_ > (std::uint64_t{1} << 32); }
  std::size_t nnz() const { return dense_ ? static_cast<std::size_t>(length_) : count_; }
  View view() const;
  // Of elements that are there; of a dense stream all of them.
  std::span<const std::byte> values() const { return {values_.data(), values_.size()}; }
  std::span<std::byte> values() { return {values_.data(), values_.size()}; }
  std::uint64_t index(std::size_t i) const { return view().index(i); }

  // All values, the neutral element where there was none.
  void densify(const kernels::Operator& op);
  // The other way: only the elements that are not neutral bit for bit.
  void sparsify(const kernels::Operator& op);

  // Room for so many elements, to be written through the pointers; then as many as were written.
  kernels::PairsOut make_room(std::size_t capacity);
  void keep(std::size_t count);
  // All values, to be written.
  std::byte* make_dense();

 private:
  DType dtype_ = DType::f32;
  bool dense_ = false;
  std::uint64_t length_ = 0;
  std::size_t count_ = 0;
  Array<std::uint32_t> narrow_;
  Array<std::uint64_t> wide_;
  Array<std::byte> values_;
};

// left op right, of streams of one length; sums on the way where the result's dtype is float32 and
// theirs is not. Dense from kept_dense() on, of value_bytes: merged into no more room than that, so
// that streams with much in common stay sparse although their counts would allow more.
Stream merged(const kernels::Operator& op, const View& left, const View& right, DType dtype,
              std::uint64_t value_bytes, double dense_multiplier);

// Whether both have the same elements bit for bit, and the same form.
bool same(const Stream& a, const Stream& b);

// The same for the same indices of the same length, whatever the values.
std::uint64_t support_hash(const View& view);

}  // namespace unisono::stream
