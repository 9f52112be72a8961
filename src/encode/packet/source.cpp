// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/packet/source.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/kernels.hpp"
#include "kernels/linear.hpp"
#include "kernels/quantise/quantise.hpp"

namespace unisono::encode {
namespace {

constexpr std::size_t kSourcePiece = 4096;        // elements that stay in the first-level cache

void load(const Source& source, double scale, std::size_t first, std::size_t count, float* out) {
  const auto* in = static_cast<const std::byte*>(source.elements) + first * size_of(source.dtype);
  kernels::cast(DType::f32, out, source.dtype, in, count);
  if (scale != 1.0) kernels::scale(DType::f32, out, out, scale, count);
}

template <typename Body>
bool all_pieces(const Source& source, double scale, Body body) {
  std::array<float, kSourcePiece> piece;
  for (std::size_t i = 0; i < source.count; i += kSourcePiece) {
    const std::size_t n = std::min(kSourcePiece, source.count - i);
    load(source, scale, i, n, piece.data());
    if (!body(piece.data(), n)) return false;
  }
  return true;
}

}  // namespace

bool all_finite(const Source& source) {
  if (source.elements == nullptr) return true;
  if (source.dtype == DType::f32 && source.prescale == 1.0) {
    return kernels::all_finite(static_cast<const float*>(source.elements), source.count);
  }
  return all_pieces(source, source.prescale, [](const float* values, std::size_t n) {
    return kernels::all_finite(values, n);
  });
}

double clipped_scale(const Source& source, double clip) {
  if (clip == 0 || source.elements == nullptr) return source.prescale;
  double square = 0;
  all_pieces(source, source.prescale, [&](const float* values, std::size_t n) {
    const void* input = values;
    kernels::add_gram(DType::f32, {&input, 1}, n, {&square, 1});
    return true;
  });
  const double norm = std::sqrt(square);
  return norm > clip ? source.prescale * (clip / norm) : source.prescale;
}

const float* as_float32(const Source& source, double scale, std::vector<float>& scratch) {
  if (source.dtype == DType::f32 && scale == 1.0) return static_cast<const float*>(source.elements);
  scratch.resize(source.count);
  load(source, scale, 0, source.count, scratch.data());
  return scratch.data();
}

}  // namespace unisono::encode
