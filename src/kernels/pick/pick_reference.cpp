// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/pick/pick_reference.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

namespace unisono::kernels::reference {

namespace {

// Callers' memory may have any alignment.
template <typename T>
T element_at(const T* elements, std::size_t i) {
  T element;
  std::memcpy(&element, reinterpret_cast<const std::byte*>(elements) + i * sizeof(T), sizeof(T));
  return element;
}

template <typename T>
void put_element(T* elements, std::size_t i, T element) {
  std::memcpy(reinterpret_cast<std::byte*>(elements) + i * sizeof(T), &element, sizeof(T));
}

// Asked for each element in turn whether the cut takes it.
class Taker {
 public:
  explicit Taker(Cut cut) : magnitude_(magnitude_of(cut.magnitude)), equal_(cut.equal) {}
  bool takes(float value) {
    const std::uint32_t magnitude = magnitude_of(value);
    if (magnitude != magnitude_) return magnitude > magnitude_;
    if (equal_ == 0) return false;
    --equal_;
    return true;
  }

 private:
  std::uint32_t magnitude_;
  std::size_t equal_;
};

void accumulate(float* residual, const float* gradient, std::size_t count) {
  if (gradient == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) {
    put_element(residual, i, element_at(residual, i) + element_at(gradient, i));
  }
}

}  // namespace

Cut cut_of_largest(const float* values, std::size_t count, std::size_t k) {
  std::vector<std::uint32_t> magnitudes(count);
  for (std::size_t i = 0; i < count; ++i) magnitudes[i] = magnitude_of(element_at(values, i));
  std::sort(magnitudes.begin(), magnitudes.end(), std::greater<>());
  const std::uint32_t last = magnitudes[k - 1];
  const auto first_equal = std::find(magnitudes.begin(), magnitudes.end(), last);
  const auto above = static_cast<std::size_t>(first_equal - magnitudes.begin());
  return {std::bit_cast<float>(last), k - above};
}

std::size_t compact(const float* values, std::size_t count, Cut cut, std::uint32_t base,
                    std::uint32_t* indices, float* picked, std::size_t capacity) {
  Taker taker(cut);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = element_at(values, i);
    if (!taker.takes(value)) continue;
    if (taken < capacity) {
      put_element(indices, taken, base + static_cast<std::uint32_t>(i));
      put_element(picked, taken, value);
    }
    ++taken;
  }
  return taken;
}

std::size_t compact_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  Cut cut, std::uint32_t base, std::uint32_t* indices,
                                  float* picked, std::size_t capacity) {
  accumulate(residual, gradient, count);
  const std::size_t taken =
      reference::compact(residual, count, cut, base, indices, picked, capacity);
  for (std::size_t n = 0; n < std::min(taken, capacity); ++n) {
    put_element(residual, element_at(indices, n) - base, 0.0f);
  }
  return taken;
}

void top_of_buckets(const float* values, std::size_t count, std::size_t bucket, std::size_t k,
                    std::uint32_t base, std::uint32_t* indices, float* picked) {
  for (std::size_t begin = 0, n = 0; begin < count; begin += bucket) {
    const std::size_t length = std::min(bucket, count - begin);
    const std::size_t picks = picks_of_bucket(length, bucket, k);
    const Cut cut = reference::cut_of_largest(values + begin, length, picks);
    reference::compact(values + begin, length, cut, base + static_cast<std::uint32_t>(begin),
                       indices + n, picked + n, picks);
    n += picks;
  }
}

void top_of_buckets_with_feedback(float* residual, const float* gradient, std::size_t count,
                                  std::size_t bucket, std::size_t k, std::uint32_t base,
                                  std::uint32_t* indices, float* picked) {
  accumulate(residual, gradient, count);
  reference::top_of_buckets(residual, count, bucket, k, base, indices, picked);
  for (std::size_t n = 0; n < bucket_picks(count, bucket, k); ++n) {
    put_element(residual, element_at(indices, n) - base, 0.0f);
  }
}

}  // namespace unisono::kernels::reference
