// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What quantising promises, and that vectors, chunks and addresses change no bit of it. Arrays have
// exactly the size that is promised, so that a sanitiser sees an access beyond them.
#include "kernels/quantise/quantise.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/data/rng.hpp"
#include "kernels/quantise/philox.hpp"
#include "kernels/quantise/quantise_reference.hpp"

namespace unisono::kernels {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

using Words = std::array<std::uint32_t, 4>;

struct Quantised {
  std::vector<float> scales;
  std::vector<std::byte> codes;
  bool operator==(const Quantised& other) const {
    return codes == other.codes && scales.size() == other.scales.size() &&
           (scales.empty() ||
            std::memcmp(scales.data(), other.scales.data(), scales.size() * sizeof(float)) == 0);
  }
};

// bits 2, 4 and 8, or one of these.
constexpr int kE4m3 = 100, kE5m2 = 101;

DType fp8_of(int bits) {
  return bits == kE4m3 ? DType::f8e4m3 : DType::f8e5m2;
}
bool is_fp8_kind(int bits) {
  return bits >= kE4m3;
}
int width_of(int bits) {
  return is_fp8_kind(bits) ? 8 : bits;
}

Quantised sized_for(int bits, std::size_t count) {
  return {std::vector<float>(scale_count(count), -1.0f),
          std::vector<std::byte>(code_bytes(width_of(bits), count), std::byte{0xA5})};
}

Quantised quantised(int bits, const QuantiseKey* key, std::uint64_t first,
                    const std::vector<float>& values) {
  Quantised out = sized_for(bits, values.size());
  if (is_fp8_kind(bits)) {
    quantise_fp8(fp8_of(bits), values.data(), values.size(), out.scales.data(), out.codes.data());
  } else {
    quantise(bits, key, first, values.data(), values.size(), out.scales.data(), out.codes.data());
  }
  return out;
}

Quantised expected(int bits, const QuantiseKey* key, std::uint64_t first,
                   const std::vector<float>& values) {
  Quantised out = sized_for(bits, values.size());
  if (is_fp8_kind(bits)) {
    reference::quantise_fp8(fp8_of(bits), values.data(), values.size(), out.scales.data(),
                            out.codes.data());
  } else {
    reference::quantise(bits, key, first, values.data(), values.size(), out.scales.data(),
                        out.codes.data());
  }
  return out;
}

std::vector<float> decoded(int bits, const Quantised& from, std::size_t count) {
  std::vector<float> out(count, -7.0f);
  if (is_fp8_kind(bits)) {
    dequantise_fp8(fp8_of(bits), from.scales.data(), from.codes.data(), count, out.data());
  } else {
    dequantise(bits, from.scales.data(), from.codes.data(), count, out.data());
  }
  return out;
}

// Bit for bit; any NaN equals any NaN.
void expect_equal(const std::vector<float>& wanted, const std::vector<float>& found) {
  ASSERT_EQ(wanted.size(), found.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i]) && std::isnan(found[i])) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wanted[i]), std::bit_cast<std::uint32_t>(found[i]))
        << "element " << i << " of " << wanted.size() << ": " << wanted[i] << ", " << found[i];
  }
}

enum class Kind { normal, wild, zeros, denormals, equal, tiny, huge };
constexpr Kind kKinds[] = {Kind::normal, Kind::wild, Kind::zeros, Kind::denormals,
                           Kind::equal,  Kind::tiny, Kind::huge};

float sample(Kind kind, Rng& rng) {
  const double centred = rng.uniform() + rng.uniform() + rng.uniform() - 1.5;
  const auto bits = static_cast<std::uint32_t>(rng());
  const std::uint32_t sign = bits & 0x80000000u;
  switch (kind) {
    case Kind::normal:
      return static_cast<float>(centred * 1e-3);
    // Any finite number.
    case Kind::wild:
      return std::bit_cast<float>(sign | (bits & 0x7FFFFFFFu) % 0x7F800000u);
    case Kind::zeros:
      return std::bit_cast<float>(sign);
    case Kind::denormals:
      return std::bit_cast<float>(sign | (bits & 0x007FFFFFu));
    case Kind::equal:
      return std::bit_cast<float>(sign | 0x3E99999Au);
    // 127 / max is near the largest number.
    case Kind::tiny:
      return static_cast<float>(centred * 8e-37);
    case Kind::huge:
      return static_cast<float>(centred * 2.2e38);
  }
  return 0;
}

std::vector<float> samples(Kind kind, std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(count);
  for (float& value : out) value = sample(kind, rng);
  return out;
}

const std::vector<std::size_t> kCounts = {0,  1,   2,    3,    5,    7,    8,    15,   16,  17,
                                          31, 100, 1000, 1023, 1024, 1025, 1031, 2048, 5003};

TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  const std::uint32_t ones = 0xFFFFFFFF;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (Words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(Quantise, VectorsGiveTheBitsOfTheReference) {
  const QuantiseKey key{11, 22, 33, 44};
  for (const int bits : {2, 4, 8, kE4m3, kE5m2}) {
    for (const Kind kind : kKinds) {
      for (const std::size_t count : kCounts) {
        SCOPED_TRACE(testing::Message()
                     << bits << " bits, kind " << static_cast<int>(kind) << ", count " << count);
        const std::vector<float> values = samples(kind, count, count + 1);
        EXPECT_TRUE(quantised(bits, &key, 4096, values) == expected(bits, &key, 4096, values));
        EXPECT_TRUE(quantised(bits, nullptr, 0, values) == expected(bits, nullptr, 0, values));
      }
    }
  }
}

TEST(Quantise, DecodesToTheBitsOfTheReference) {
  Rng rng(5);
  for (const int bits : {2, 4, 8, kE4m3, kE5m2}) {
    for (const std::size_t count : kCounts) {
      SCOPED_TRACE(testing::Message() << bits << " bits, count " << count);
      // Any bytes at all are codes, those that are never encoded included.
      Quantised from = sized_for(bits, count);
      for (std::byte& code : from.codes) code = static_cast<std::byte>(rng());
      for (float& scale : from.scales) scale = sample(Kind::wild, rng);
      if (!from.scales.empty() && rng.below(4) == 0)
        from.scales[0] = rng.below(2) ? kNotANumber : 0.0f;
      const std::vector<float> before = samples(Kind::wild, count, count);
      std::vector<float> out(count), sum = before, wanted(count), wanted_sum = before;
      if (is_fp8_kind(bits)) {
        const DType format = fp8_of(bits);
        const float* scales = from.scales.data();
        reference::dequantise_fp8(format, scales, from.codes.data(), count, wanted.data());
        reference::dequantise_add_fp8(format, scales, from.codes.data(), count, wanted_sum.data());
        dequantise_fp8(format, scales, from.codes.data(), count, out.data());
        dequantise_add_fp8(format, scales, from.codes.data(), count, sum.data());
      } else {
        const float* scales = from.scales.data();
        reference::dequantise(bits, scales, from.codes.data(), count, wanted.data());
        reference::dequantise_add(bits, scales, from.codes.data(), count, wanted_sum.data());
        dequantise(bits, scales, from.codes.data(), count, out.data());
        dequantise_add(bits, scales, from.codes.data(), count, sum.data());
      }
      expect_equal(wanted, out);
      expect_equal(wanted_sum, sum);
    }
  }
}

TEST(Quantise, ChunksAtMultiplesOfABucketChangeNoBit) {
  const QuantiseKey key{1, 2, 3, 4};
  const std::vector<float> values = samples(Kind::normal, 5 * kQuantiseBucket + 77, 9);
  // Across the point where the low word of the counter wraps.
  const std::uint64_t first = 8ull * 0xFFFFFFFFull + 8 - 2 * kQuantiseBucket;
  for (const int bits : {2, 4, 8}) {
    const Quantised whole = quantised(bits, &key, first, values);
    EXPECT_TRUE(whole == expected(bits, &key, first, values));
    Quantised parts;
    for (std::size_t begin = 0; begin < values.size(); begin += 2 * kQuantiseBucket) {
      const std::size_t end = std::min(begin + 2 * kQuantiseBucket, values.size());
      const std::vector<float> part(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                    values.begin() + static_cast<std::ptrdiff_t>(end));
      const Quantised some = quantised(bits, &key, first + begin, part);
      parts.scales.insert(parts.scales.end(), some.scales.begin(), some.scales.end());
      parts.codes.insert(parts.codes.end(), some.codes.begin(), some.codes.end());
    }
    EXPECT_TRUE(parts == whole) << bits;
  }
}

TEST(Quantise, EveryPartOfTheKeyChangesTheCodes) {
  const std::vector<float> values = samples(Kind::normal, 1024, 3);
  const QuantiseKey key{1, 1, 1, 1};
  const Quantised with = quantised(4, &key, 0, values);
  for (const QuantiseKey& other : {QuantiseKey{2, 1, 1, 1}, QuantiseKey{1, 2, 1, 1},
                                   QuantiseKey{1, 1, 2, 1}, QuantiseKey{1, 1, 1, 2}}) {
    EXPECT_FALSE(quantised(4, &other, 0, values) == with);
  }
  EXPECT_FALSE(quantised(4, &key, 1024, values) == with);
}

TEST(Quantise, KeepsTheLargestAndZeroExactly) {
  const QuantiseKey key{7, 7, 7, 7};
  std::vector<float> values(1024, 0.0f);
  values[17] = -3.5f;
  values[900] = 1.0f;
  for (const int bits : {2, 4, 8, kE4m3, kE5m2}) {
    for (const QuantiseKey* k : {&key, static_cast<const QuantiseKey*>(nullptr)}) {
      const Quantised q = quantised(bits, k, 0, values);
      EXPECT_EQ(q.scales[0], 3.5f);
      const std::vector<float> out = decoded(bits, q, values.size());
      EXPECT_FLOAT_EQ(out[17], -3.5f);
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (i == 17 || i == 900) continue;
        ASSERT_EQ(out[i], 0.0f) << i;
      }
    }
  }
}

TEST(Quantise, IsUnbiasedAndOffByLessThanAStep) {
  constexpr std::size_t kSteps = 400, kCount = 1024;
  const std::vector<float> values = samples(Kind::normal, kCount, 21);
  for (const int bits : {2, 4, 8}) {
    std::vector<double> sum(kCount, 0.0);
    double step = 0;
    for (std::uint32_t n = 0; n < kSteps; ++n) {
      const QuantiseKey key{5, 6, 0, n};
      const Quantised q = quantised(bits, &key, 0, values);
      step = q.scales[0] / static_cast<double>(quantise_levels(bits));
      const std::vector<float> out = decoded(bits, q, kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        ASSERT_LT(std::abs(out[i] - values[i]), step * 1.0001) << bits;
        sum[i] += out[i];
      }
    }
    // A rounding varies by at most half a step about its mean.
    const double sigma = 0.5 * step / std::sqrt(static_cast<double>(kSteps));
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_LT(std::abs(sum[i] / kSteps - values[i]), 5 * sigma) << bits << " " << i;
    }
  }
}

TEST(Quantise, NearestIsOffByAtMostHalfAStep) {
  const std::vector<float> values = samples(Kind::normal, 3000, 22);
  for (const int bits : {2, 4, 8}) {
    const Quantised q = quantised(bits, nullptr, 0, values);
    const std::vector<float> out = decoded(bits, q, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double step =
          q.scales[i / kQuantiseBucket] / static_cast<double>(quantise_levels(bits));
      ASSERT_LE(std::abs(out[i] - values[i]), step * 0.50001) << bits << " " << i;
    }
  }
}

TEST(Quantise, ABucketTooSmallForItsInverseIsZero) {
  const QuantiseKey key{1, 2, 3, 4};
  const std::vector<float> values(1024, 1e-38f);  // 127 / 1e-38 overflows, 1 / 1e-38 does not
  EXPECT_EQ(quantised(8, &key, 0, values).scales[0], 0.0f);
  EXPECT_EQ(quantised(8, &key, 0, values).codes, std::vector<std::byte>(1024));
  EXPECT_EQ(quantised(2, &key, 0, values).scales[0], 1e-38f);
  EXPECT_EQ(decoded(8, quantised(8, nullptr, 0, values), 1024), std::vector<float>(1024, 0.0f));
}

TEST(Quantise, ABucketThatIsNotFiniteDecodesToNan) {
  const QuantiseKey key{1, 2, 3, 4};
  for (const float bad : {kNotANumber, -kNotANumber, kInfinite, -kInfinite}) {
    for (const std::size_t at : {1024u, 1500u, 2047u, 2048u, 2500u}) {
      std::vector<float> values = samples(Kind::normal, 2501, 8);
      values[at] = bad;
      EXPECT_FALSE(all_finite(values.data(), values.size()));
      for (const int bits : {2, 4, 8, kE4m3, kE5m2}) {
        const Quantised q = quantised(bits, &key, 0, values);
        EXPECT_TRUE(q == expected(bits, &key, 0, values));
        EXPECT_EQ(std::bit_cast<std::uint32_t>(q.scales[at / 1024]), 0x7FC00000u);
        const std::vector<float> out = decoded(bits, q, values.size());
        for (std::size_t i = 0; i < out.size(); ++i) {
          ASSERT_EQ(std::isnan(out[i]), i / 1024 == at / 1024) << i;
        }
      }
    }
  }
}

TEST(Quantise, ANumberThatIsNotFiniteIsFoundAnywhere) {
  for (const std::size_t count : kCounts) {
    std::vector<float> values = samples(Kind::wild, count, count);
    EXPECT_TRUE(all_finite(values.data(), count));
    const std::size_t step = count > 40 ? count / 40 + 1 : 1;
    for (std::size_t i = 0; i < count; i += step) {
      const float kept = values[i];
      for (const float bad : {kNotANumber, kInfinite, -kInfinite}) {
        values[i] = bad;
        EXPECT_FALSE(all_finite(values.data(), count)) << i << " of " << count;
      }
      values[i] = kept;
    }
  }
}

TEST(Quantise, TakesAnyAddress) {
  const QuantiseKey key{1, 2, 3, 4};
  const std::size_t count = 2000;
  const std::vector<float> values = samples(Kind::normal, count, 30);
  std::vector<std::byte> shifted(count * sizeof(float) + 1), scales(2 * sizeof(float) + 1);
  std::memcpy(shifted.data() + 1, values.data(), count * sizeof(float));
  const auto* from = reinterpret_cast<const float*>(shifted.data() + 1);
  auto* const to = reinterpret_cast<float*>(scales.data() + 1);
  for (const int bits : {2, 4, 8}) {
    std::vector<std::byte> codes(code_bytes(bits, count) + 1);
    const Quantised wanted = expected(bits, &key, 0, values);
    quantise(bits, &key, 0, from, count, to, codes.data() + 1);
    EXPECT_EQ(0, std::memcmp(codes.data() + 1, wanted.codes.data(), wanted.codes.size()));
    EXPECT_EQ(0, std::memcmp(scales.data() + 1, wanted.scales.data(), 2 * sizeof(float)));
    std::vector<std::byte> out(count * sizeof(float) + 1);
    dequantise(bits, to, codes.data() + 1, count, reinterpret_cast<float*>(out.data() + 1));
    const std::vector<float> plain = decoded(bits, wanted, count);
    EXPECT_EQ(0, std::memcmp(out.data() + 1, plain.data(), count * sizeof(float)));
  }
}

}  // namespace
}  // namespace unisono::kernels
