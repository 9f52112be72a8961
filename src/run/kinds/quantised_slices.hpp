// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The dense slices of a split allreduce in 2, 4 or 8 bits an element: codes of kernels/quantise and
// a scale for every 1,024 elements of a slice. Random numbers hang on the tensor's name, its place
// in the order, the owner and the element of the slice, so that no two steps round alike and all
// members decode the same. float32 only. Thread: the one that drives the engine.
#pragma once

#include <cstring>
#include <string_view>

#include "base/data/hash.hpp"
#include "kernels/quantise/quantise.hpp"
#include "move/sparse/sparse.hpp"

namespace unisono::run {

class QuantisedSlices final : public move::GatherCodec {
 public:
  QuantisedSlices(int bits, std::string_view tensor, std::uint64_t sequence)
      : bits_(bits), tensor_(static_cast<std::uint32_t>(hash_text(tensor))),
        seed_(static_cast<std::uint32_t>(sequence >> 32)),
        step_(static_cast<std::uint32_t>(sequence)) {}

  // Of a long slice.
  static double bytes_per_value(int bits) {
    return bits / 8.0 + sizeof(float) / static_cast<double>(kernels::kQuantiseBucket);
  }

  std::size_t bytes(std::size_t count) const override {
    return scale_bytes(count) + kernels::code_bytes(bits_, count);
  }
  void encode(int owner, std::uint64_t, DType, const void* values, std::size_t count,
              std::span<std::byte> packed) override {
    const kernels::QuantiseKey key{seed_, tensor_, static_cast<std::uint32_t>(owner), step_};
    scales_.resize(kernels::scale_count(count));
    kernels::quantise(bits_, &key, 0, static_cast<const float*>(values), count, scales_.data(),
                      packed.data() + scale_bytes(count));
    std::memcpy(packed.data(), scales_.data(), scale_bytes(count));
  }
  void decode(int, std::uint64_t, DType, std::span<const std::byte> packed, void* values,
              std::size_t count) override {
    scales_.resize(kernels::scale_count(count));
    std::memcpy(scales_.data(), packed.data(), scale_bytes(count));
    kernels::dequantise(bits_, scales_.data(), packed.data() + scale_bytes(count), count,
                        static_cast<float*>(values));
  }

 private:
  static std::size_t scale_bytes(std::size_t count) {
    return kernels::scale_count(count) * sizeof(float);
  }

  const int bits_;
  const std::uint32_t tensor_, seed_, step_;
  std::vector<float> scales_;
};

}  // namespace unisono::run
