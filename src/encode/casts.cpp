// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/casts.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/kernels.hpp"

namespace unisono::encode {
namespace {

constexpr std::size_t kBlock = 1024;        // elements that stay in the first-level cache

class Cast final : public Codec {
 public:
  Cast(std::string_view name, std::optional<DType> small) : name_(name), small_(small) {}

  std::string_view name() const override { return name_; }

  DType wire_dtype(DType dtype) const override {
    return small_ && (dtype == DType::f32 || dtype == DType::f64) ? *small_ : dtype;
  }

  void encode(const EncodePart& part) const override {
    const DType wire = wire_dtype(part.dtype);
    if (part.count == 0) return;
    if (part.elements == nullptr) {
      kernels::fill_neutral(wire, part.op, part.wire, part.count);
    } else if (wire == part.dtype) {
      kernels::scale(wire, part.wire, part.elements, part.prescale, part.count);
    } else if (part.prescale == 1.0) {
      kernels::cast(wire, part.wire, part.dtype, part.elements, part.count);
    } else {
      encode_scaled(part, wire);
    }
  }

  void decode(const DecodePart& part) const override {
    const DType wire = wire_dtype(part.dtype);
    if (wire == part.dtype) {
      return kernels::finish(wire, part.divisor, part.postscale, part.elements, part.wire,
                             part.count);
    }
    const bool finish = part.divisor > 1 || part.postscale != 1.0;
    for (std::size_t i = 0; i < part.count; i += kBlock) {
      const std::size_t count = std::min(kBlock, part.count - i);
      std::byte* out = static_cast<std::byte*>(part.elements) + i * size_of(part.dtype);
      kernels::cast(part.dtype, out, wire, part.wire + i * size_of(wire), count);
      if (finish) kernels::finish(part.dtype, part.divisor, part.postscale, out, out, count);
    }
  }

 private:
  static void encode_scaled(const EncodePart& part, DType wire) {
    alignas(64) std::array<std::byte, kBlock * sizeof(double)> scaled;
    const auto* in = static_cast<const std::byte*>(part.elements);
    for (std::size_t i = 0; i < part.count; i += kBlock) {
      const std::size_t count = std::min(kBlock, part.count - i);
      kernels::scale(part.dtype, scaled.data(), in + i * size_of(part.dtype), part.prescale, count);
      kernels::cast(wire, part.wire + i * size_of(wire), part.dtype, scaled.data(), count);
    }
  }

  const std::string_view name_;
  const std::optional<DType> small_;
};

}  // namespace

const Codec& none_codec() {
  static const Cast codec("none", std::nullopt);
  return codec;
}
const Codec& fp16_codec() {
  static const Cast codec("fp16", DType::f16);
  return codec;
}
const Codec& bf16_codec() {
  static const Cast codec("bf16", DType::bf16);
  return codec;
}

}  // namespace unisono::encode
