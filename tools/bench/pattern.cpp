// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace unisono::tools {
namespace {

struct FloatLayout {
  int mantissa_bits, bias;
};

// mantissa_bits 0: not a floating-point type.
FloatLayout layout_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return {23, 127};
    case DType::f64: return {52, 1023};
    case DType::f16: return {10, 15};
    case DType::bf16: return {7, 127};
    case DType::f8e4m3: return {3, 7};
    case DType::f8e5m2: return {2, 15};
    default: return {0, 0};
  }
}

}  // namespace

std::vector<std::byte> encode_small(DType dtype, int value) {
  const FloatLayout layout = layout_of(dtype);
  auto bits = static_cast<std::uint64_t>(value);
  if (layout.mantissa_bits > 0 && value > 0) {
    const int exponent = static_cast<int>(std::bit_width(static_cast<unsigned>(value))) - 1;
    const std::uint64_t fraction = bits - (std::uint64_t{1} << exponent);
    const int shift = layout.mantissa_bits - exponent;
    bits = (static_cast<std::uint64_t>(exponent + layout.bias) << layout.mantissa_bits) |
           (shift >= 0 ? fraction << shift : fraction >> -shift);
  }
  std::vector<std::byte> element(size_of(dtype));
  for (std::size_t i = 0; i < element.size(); ++i) {
    element[i] = static_cast<std::byte>(bits >> (8 * i));
  }
  return element;
}

int ranks_checkable(DType dtype) {
  const int mantissa = layout_of(dtype).mantissa_bits;
  if (dtype == DType::boolean || mantissa >= 23) return 65536;
  if (mantissa > 0) return 2 << mantissa;
  return size_of(dtype) == 1 ? 127 : 32767;
}

Pattern::Pattern(Work work, int ranks, int rank)
    : work_(work),
      ranks_(ranks),
      rank_(rank),
      modulus_(work.dtype == DType::boolean
                   ? 2
                   : std::clamp(ranks_checkable(work.dtype) / ranks + 1, 2, 5)),
      width_(size_of(work.dtype)),
      stride_(4096 / width_) {}

int Pattern::value(int source, std::size_t phase, int seed) const {
  if (source >= 0) {
    return static_cast<int>((phase + static_cast<std::size_t>(3 * source + seed)) %
                            static_cast<std::size_t>(modulus_));
  }
  int sum = 0;
  for (int r = 0; r < ranks_; ++r) sum += value(r, phase, seed);
  return work_.dtype == DType::boolean ? std::min(sum, 1) : sum;
}

int Pattern::touched(int source, int seed, int iteration) const {
  if (source >= 0) return (source + iteration + seed) % modulus_;
  int sum = 0;
  for (int r = 0; r < ranks_; ++r) sum += touched(r, seed, iteration);
  return work_.dtype == DType::boolean ? std::min(sum, 1) : sum;
}

void Pattern::fill(std::span<std::byte> input, int seed, int iteration) const {
  const auto period = static_cast<std::size_t>(modulus_);
  for (std::size_t j = 0; j < std::min(period, input.size() / width_); ++j) {
    const auto element = encode_small(work_.dtype, value(rank_, j, seed));
    std::memcpy(&input[j * width_], element.data(), width_);
  }
  // Doubles what is written; whole periods stay aligned.
  for (std::size_t done = period * width_; done < input.size();) {
    const std::size_t n = std::min(done, input.size() - done);
    std::memcpy(&input[done], input.data(), n);
    done += n;
  }
  touch(input, seed, iteration);
}

void Pattern::touch(std::span<std::byte> input, int seed, int iteration) const {
  const auto element = encode_small(work_.dtype, touched(rank_, seed, iteration));
  for (std::size_t at = 0; at < input.size(); at += stride_ * width_) {
    std::memcpy(&input[at], element.data(), width_);
  }
}

std::vector<Pattern::Part> Pattern::parts() const {
  const auto all = static_cast<std::size_t>(work_.elements);
  const std::size_t share = all / static_cast<std::size_t>(ranks_);
  const std::size_t mine = share * static_cast<std::size_t>(rank_);
  std::vector<Part> list;
  switch (work_.collective) {
    case Collective::broadcast: return {{0, 0, all}};
    case Collective::reducescatter: return {{-1, mine, share}};
    case Collective::allgather:
      for (int r = 0; r < ranks_; ++r) list.push_back({r, 0, all});
      return list;
    case Collective::alltoall:
      for (int r = 0; r < ranks_; ++r) list.push_back({r, mine, share});
      return list;
    default: return {{-1, 0, all}};
  }
}

std::size_t Pattern::result_bytes() const {
  std::size_t elements = 0;
  for (const Part& part : parts()) elements += part.count;
  return elements * width_;
}

bool Pattern::right(std::span<const std::byte> result, int seed, int iteration) const {
  if (result.size() != result_bytes()) return false;
  const auto period = static_cast<std::size_t>(modulus_);
  const std::byte* at = result.data();
  for (const Part& part : parts()) {
    // One page of the expected values, at any phase.
    std::vector<std::byte> wheel((stride_ + period) * width_);
    for (std::size_t j = 0; j < stride_ + period; ++j) {
      const auto element = encode_small(work_.dtype, value(part.source, j % period, seed));
      std::memcpy(&wheel[j * width_], element.data(), width_);
    }
    const auto changed = encode_small(work_.dtype, touched(part.source, seed, iteration));
    for (std::size_t j = part.first; j < part.first + part.count;) {
      if (j % stride_ == 0) {
        if (std::memcmp(at, changed.data(), width_) != 0) return false;
        at += width_;
        ++j;
        continue;
      }
      const std::size_t n = std::min(stride_ - j % stride_, part.first + part.count - j);
      if (std::memcmp(at, &wheel[j % period * width_], n * width_) != 0) return false;
      at += n * width_;
      j += n;
    }
  }
  return true;
}

}  // namespace unisono::tools
