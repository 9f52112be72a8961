// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Reads numbers of text quickly, and to the last bit: what a short decimal needs is exact in
// double, and the few cases in which rounding twice could matter go to std::from_chars. Pure.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace unisono::opt {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// An index; returns where it ends, or null when there is no digit or it has more than 10 of them.
inline const char* read_index(const char* at, const char* end, std::uint64_t& out) {
  const char* const begin = at;
  std::uint64_t number = 0;
  for (; at != end && is_digit(*at); ++at) number = number * 10 + static_cast<unsigned>(*at - '0');
  if (at == begin || at - begin > 10) return nullptr;
  out = number;
  return at;
}

namespace number_detail {

inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The general case: also infinities and numbers beyond a float, which the caller refuses.
inline const char* read_slowly(const char* at, const char* end, float& out) {
  if (at != end && *at == '+') {
    if (++at != end && *at == '-') return nullptr;
  }
  const auto read = std::from_chars(at, end, out);
  if (read.ec == std::errc::invalid_argument) return nullptr;
  if (read.ec == std::errc::result_out_of_range) {
    // Too small is 0, too large is infinite; a double tells which.
    double wide = 0;
    const auto again = std::from_chars(at, end, wide);
    const bool small = again.ec == std::errc() && wide < 1 && wide > -1;
    out = small ? static_cast<float>(wide) : std::numeric_limits<float>::infinity();
  }
  return read.ptr;
}

}  // namespace number_detail

// A decimal, perhaps with a sign and an exponent; returns where it ends, or null when it is none.
inline const char* read_float(const char* const begin, const char* end, float& out) {
  using number_detail::kPowers;
  using number_detail::read_slowly;
  const char* at = begin;
  const bool negative = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) ++at;
  const char* const first = at;
  std::uint64_t mantissa = 0;
  for (; at != end && is_digit(*at); ++at) {
    mantissa = mantissa * 10 + static_cast<unsigned>(*at - '0');
  }
  auto digits = at - first;
  int exponent = 0;
  if (at != end && *at == '.') {
    const char* const point = ++at;
    for (; at != end && is_digit(*at); ++at) {
      mantissa = mantissa * 10 + static_cast<unsigned>(*at - '0');
    }
    exponent = static_cast<int>(point - at);
    digits += at - point;
  }
  if (digits == 0 || digits > 19) return read_slowly(begin, end, out);
  if (at != end && (*at == 'e' || *at == 'E')) {
    const char* mark = at + 1;
    const bool down = mark != end && *mark == '-';
    if (mark != end && (*mark == '-' || *mark == '+')) ++mark;
    std::uint64_t power = 0;
    const char* const done = read_index(mark, end, power);
    if (done == nullptr || power > 1000) return read_slowly(begin, end, out);
    exponent += down ? -static_cast<int>(power) : static_cast<int>(power);
    at = done;
  }
  if (mantissa > (1ull << 53) || exponent < -22 || exponent > 22) {
    return read_slowly(begin, end, out);
  }
  // Both factors are exact, so the double is the decimal rounded once.
  double wide = static_cast<double>(mantissa);
  wide = exponent < 0 ? wide / kPowers[-exponent] : wide * kPowers[exponent];
  // Halfway between two floats it may be so only by that rounding; below the smallest normal float
  // fewer bits are kept than this test knows.
  const bool halfway = (std::bit_cast<std::uint64_t>(wide) & 0x1FFFFFFF) == 0x10000000;
  if (halfway || (wide != 0 && wide < 0x1p-126) || wide > 0x1p127) {
    return read_slowly(begin, end, out);
  }
  out = static_cast<float>(negative ? -wide : wide);
  return at;
}

}  // namespace unisono::opt
