// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "kernels/element.hpp"
#include "kernels/kernels_reference.hpp"
#include "kernels/kernels_simd.hpp"

namespace unisono::kernels {
namespace {

std::vector<DType> all_dtypes() {
  std::vector<DType> out;
  for (int i = 0; i < kDTypeCount; ++i) out.push_back(static_cast<DType>(i));
  return out;
}

std::vector<ReduceOp> all_ops() {
  std::vector<ReduceOp> out;
  for (int i = 0; i < kElementwiseOpCount; ++i) out.push_back(static_cast<ReduceOp>(i));
  return out;
}

// Random bits cover NaN, infinities and subnormals of the small formats; a quarter of the elements
// are taken from a list of special f64 values cast to the dtype.
std::vector<std::byte> random_elements(DType dtype, std::size_t count, Rng& rng) {
  static const std::vector<double> special = {
      0.0, -0.0, 1.0, -1.0, 2.5, 255.0, 65504.0, -65520.0, 448.0, 1e-45, -1e-40, 6e-8, 3.4e38,
      std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity(),
      -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
      std::numeric_limits<double>::denorm_min()};
  const std::size_t width = size_of(dtype);
  std::vector<std::byte> out(count * width);
  for (auto& byte : out) byte = static_cast<std::byte>(rng());
  for (std::size_t i = 0; i < count; ++i) {
    if (rng.below(4) != 0) continue;
    const double value = special[rng.below(special.size())];
    reference::cast(dtype, out.data() + i * width, DType::f64, &value, 0, 1);
  }
  return out;
}

bool is_nan_at(DType dtype, const void* data, std::size_t i) {
  return visit_dtype(dtype, [&](auto element) {
    using E = decltype(element);
    if constexpr (is_float_element<E>) return std::isnan(load_element<E>(data, i));
    return false;
  });
}

// Bit for bit, but any NaN equals any NaN where the payload is the hardware's choice.
void expect_same(DType dtype, const void* expected, const void* actual, std::size_t count,
                 bool exact_nan, const std::string& what) {
  const std::size_t width = size_of(dtype);
  const auto* e = static_cast<const std::byte*>(expected);
  const auto* a = static_cast<const std::byte*>(actual);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(e + i * width, a + i * width, width) == 0) continue;
    if (!exact_nan && is_nan_at(dtype, e, i) && is_nan_at(dtype, a, i)) continue;
    FAIL() << what << ": element " << i << " of " << count;
  }
}

bool nan_is_exact(ReduceOp op) { return op == ReduceOp::min || op == ReduceOp::max; }


// Reduces `inputs` copies placed at odd addresses and compares with the reference.
void check_reduce_many(DType dtype, ReduceOp op, std::size_t inputs, std::size_t count,
                       int in_place, Rng& rng) {
  const std::size_t bytes = count * size_of(dtype);
  std::vector<std::vector<std::byte>> storage;
  std::vector<const void*> pointers;
  for (std::size_t k = 0; k < inputs; ++k) {
    const auto elements = random_elements(dtype, count, rng);
    storage.emplace_back(bytes + 16);
    std::byte* at = storage.back().data() + 1 + k;
    if (bytes != 0) std::memcpy(at, elements.data(), bytes);
    pointers.push_back(at);
  }
  std::vector<std::byte> expected(bytes + 1), separate(bytes + 8);
  reference::reduce_many(dtype, op, expected.data(), pointers, 0, count);
  std::byte* out = separate.data() + 3;
  if (in_place >= 0) out = storage[static_cast<std::size_t>(in_place)].data() + 1 + in_place;
  out[bytes] = std::byte{0x5A};
  reduce_many(dtype, op, out, pointers, count);
  expect_same(dtype, expected.data(), out, count, nan_is_exact(op),
              cat(name_of(dtype), " ", name_of(op), " of ", inputs, " inputs"));
  EXPECT_EQ(out[bytes], std::byte{0x5A}) << "wrote past the end";
  if (in_place >= 0) return;
  // Checks the portable vectors, too, where the CPU has a faster way for sums.
  const std::size_t done = simd::reduce_many(dtype, op, out, pointers, count);
  EXPECT_LE(done, count);
  expect_same(dtype, expected.data(), out, done, nan_is_exact(op),
              cat(name_of(dtype), " ", name_of(op), " of ", inputs, " inputs, portable vectors"));
}

TEST(Kernels, ReduceManyEqualsReferenceForEveryDTypeOperatorAndCount) {
  Rng rng(1);
  for (const DType dtype : all_dtypes()) {
    for (const ReduceOp op : all_ops()) {
      for (std::size_t count = 0; count <= 70; ++count) {
        check_reduce_many(dtype, op, 2 + count % 5, count, -1, rng);
        check_reduce_many(dtype, op, 2, count, -1, rng);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Kernels, ReduceManyMayWriteOverAnyOfItsInputs) {
  Rng rng(2);
  for (const DType dtype : all_dtypes()) {
    for (const ReduceOp op : all_ops()) {
      for (int inputs = 2; inputs <= 6; ++inputs) {
        for (int in_place = 0; in_place < inputs; ++in_place) {
          check_reduce_many(dtype, op, static_cast<std::size_t>(inputs), 133, in_place, rng);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Kernels, ReduceAppliesOtherToAccumulator) {
  Rng rng(3);
  for (const DType dtype : all_dtypes()) {
    for (const ReduceOp op : all_ops()) {
      auto left = random_elements(dtype, 67, rng);
      const auto right = random_elements(dtype, 67, rng);
      auto expected = left;
      const std::vector<const void*> inputs{left.data(), right.data()};
      reference::reduce_many(dtype, op, expected.data(), inputs, 0, 67);
      reduce(dtype, op, left.data(), right.data(), 67);
      expect_same(dtype, expected.data(), left.data(), 67, nan_is_exact(op),
                  cat(name_of(dtype), " ", name_of(op)));
    }
  }
}

TEST(Kernels, OneInputIsCopied) {
  Rng rng(4);
  const auto in = random_elements(DType::bf16, 9, rng);
  std::vector<std::byte> out(in.size());
  const std::vector<const void*> inputs{in.data()};
  reduce_many(DType::bf16, ReduceOp::sum, out.data(), inputs, 9);
  EXPECT_EQ(in, out);
}

TEST(Kernels, SixteenBitSumsRoundOnce) {
  // 2048 + 1 + 1 is 2050 in one rounding, 2048 when each addition rounds to f16.
  const std::uint16_t big = f16_from_f32(2048), one = f16_from_f32(1);
  std::vector<std::uint16_t> a(40, big), b(40, one), c(40, one), out(40);
  const std::vector<const void*> inputs{a.data(), b.data(), c.data()};
  reduce_many(DType::f16, ReduceOp::sum, out.data(), inputs, 40);
  for (const std::uint16_t bits : out) EXPECT_EQ(f32_from_f16(bits), 2050.0f);
}

TEST(Kernels, MinAndMaxDoNotDependOnTheSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> left{nan, 1, 0.0f, -0.0f, 3, -nan, nan, 2};
  const std::vector<float> right{1, nan, -0.0f, 0.0f, 4, 5, -nan, 2};
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    auto ab = left, ba = right;
    reduce(DType::f32, op, ab.data(), right.data(), ab.size());
    reduce(DType::f32, op, ba.data(), left.data(), ba.size());
    EXPECT_EQ(std::memcmp(ab.data(), ba.data(), ab.size() * 4), 0);
    EXPECT_TRUE(std::isnan(ab[0]) && std::isnan(ab[1]) && std::isnan(ab[5]));
    EXPECT_EQ(std::signbit(ab[2]), op == ReduceOp::min);
  }
}

TEST(Kernels, NeutralElementChangesNothing) {
  Rng rng(5);
  for (const DType dtype : all_dtypes()) {
    for (const ReduceOp op : all_ops()) {
      if (op == ReduceOp::logical_and || op == ReduceOp::logical_or) continue;
      std::vector<double> numbers{0, 1, 7, 100, 3};
      std::vector<std::byte> data(5 * size_of(dtype)), neutral(data.size());
      cast(dtype, data.data(), DType::f64, numbers.data(), 5);
      fill_neutral(dtype, op, neutral.data(), 5);
      auto sum = data;
      reduce(dtype, op, sum.data(), neutral.data(), 5);
      EXPECT_EQ(sum, data) << name_of(dtype) << " " << name_of(op);
    }
  }
}

TEST(Kernels, ScaleEqualsReferenceInPlaceAndApart) {
  Rng rng(6);
  for (const DType dtype : all_dtypes()) {
    for (const double factor : {0.5, -3.25, 1.0 / 3, 1e10, 0.0}) {
      for (std::size_t count = 0; count <= 70; count += 3) {
        auto in = random_elements(dtype, count + 1, rng);
        std::vector<std::byte> expected(in.size());
        reference::scale(dtype, expected.data(), in.data(), factor, 0, count);
        scale(dtype, in.data(), in.data(), factor, count);
        expect_same(dtype, expected.data(), in.data(), count, false,
                    cat(name_of(dtype), " times ", factor));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Kernels, IntegersScaleInDoubleAndTruncate) {
  std::int32_t data[] = {7, -7, 100, std::numeric_limits<std::int32_t>::max()};
  scale(DType::i32, data, data, 0.5, 4);
  EXPECT_EQ(data[0], 3);
  EXPECT_EQ(data[1], -3);
  EXPECT_EQ(data[3], 1073741823);
  scale(DType::i32, data, data, 1e12, 4);
  EXPECT_EQ(data[1], std::numeric_limits<std::int32_t>::min());
}

TEST(Kernels, IntegerAverageTruncatesTowardZeroExactly) {
  std::int64_t wide[] = {-7, 7, std::numeric_limits<std::int64_t>::max() - 1,
                         std::numeric_limits<std::int64_t>::min()};
  finish_average(DType::i64, wide, 3, 4);
  EXPECT_EQ(wide[0], -2);
  EXPECT_EQ(wide[1], 2);
  EXPECT_EQ(wide[2], 3074457345618258602);
  EXPECT_EQ(wide[3], -3074457345618258602);
  std::uint64_t unsigned_wide = std::numeric_limits<std::uint64_t>::max();
  finish_average(DType::u64, &unsigned_wide, 2, 1);
  EXPECT_EQ(unsigned_wide, 9223372036854775807ull);
  std::int8_t narrow[] = {-128, 127};
  finish_average(DType::i8, narrow, 1000, 2);
  EXPECT_EQ(narrow[0], 0);
  EXPECT_EQ(narrow[1], 0);
  std::uint8_t truth = 1;
  finish_average(DType::boolean, &truth, 4, 1);
  EXPECT_EQ(truth, 1);
  float real = 3;
  finish_average(DType::f32, &real, 4, 1);
  EXPECT_EQ(real, 0.75f);
}

TEST(Kernels, CastEqualsReferenceBetweenAllDTypes) {
  Rng rng(7);
  for (const DType from : all_dtypes()) {
    for (const DType to : all_dtypes()) {
      for (const std::size_t count : {0u, 1u, 7u, 16u, 67u}) {
        const auto in = random_elements(from, count, rng);
        std::vector<std::byte> expected(count * size_of(to) + 1), out(expected.size());
        reference::cast(to, expected.data(), from, in.data(), 0, count);
        cast(to, out.data() + 1, from, in.data(), count);
        if (from == to) continue;
        expect_same(to, expected.data(), out.data() + 1, count, true,
                    cat(name_of(from), " to ", name_of(to)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Kernels, CastsRoundOnceAndSaturate) {
  // Just above a tie of f16: rounding through f32 first would fall back onto the tie.
  const double above_tie = 1.0 + 0x1.0p-11 + 0x1.0p-40;
  std::uint16_t half = 0;
  cast(DType::f16, &half, DType::f64, &above_tie, 1);
  EXPECT_EQ(half, 0x3C01);
  const std::int64_t wide_above_tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  cast(DType::bf16, &half, DType::i64, &wide_above_tie, 1);
  EXPECT_EQ(f32_from_bf16(half), 0x1.02p62f);
  const float values[] = {-1.9f, 300.0f, -300.0f, std::numeric_limits<float>::quiet_NaN()};
  std::int8_t bytes[4];
  cast(DType::i8, bytes, DType::f32, values, 4);
  EXPECT_EQ(bytes[0], -1);
  EXPECT_EQ(bytes[1], 127);
  EXPECT_EQ(bytes[2], -128);
  EXPECT_EQ(bytes[3], 0);
}

// Taking inputs in one by one, with what there is so far in float32, comes to the same as taking
// them all at once; inputs may become partials where they lie.
TEST(Kernels, PartialsLoseNothing) {
  Rng rng(77);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product}) {
      ASSERT_TRUE(wants_partials(dtype, op));
      for (const std::size_t count : {0u, 1u, 5u, 1023u, 1024u, 3000u}) {
        const std::size_t width = size_of(dtype);
        std::vector<std::vector<std::byte>> inputs;
        std::vector<const void*> places;
        for (int i = 0; i < 4; ++i) inputs.push_back(random_elements(dtype, count, rng));
        for (const auto& input : inputs) places.push_back(input.data());
        std::vector<std::byte> expected(count * width), actual(count * width);
        reduce_many(dtype, op, expected.data(), places, count);

        std::vector<std::byte> partials(count * sizeof(float));
        std::byte* end = partials.data() + partials.size() - count * width;
        if (count > 0) std::memcpy(end, inputs[0].data(), count * width);
        const Operand both[] = {{end}, {inputs[1].data()}};
        reduce_partials(dtype, op, partials.data(), true, both, count);
        const Operand more[] = {{partials.data(), true}, {inputs[2].data()}};
        reduce_partials(dtype, op, partials.data(), true, more, count);
        const Operand last[] = {{partials.data(), true}, {inputs[3].data()}};
        reduce_partials(dtype, op, actual.data(), false, last, count);
        for (std::size_t i = 0; i < count; ++i) {
          if (is_nan_at(dtype, expected.data(), i) && is_nan_at(dtype, actual.data(), i)) continue;
          ASSERT_EQ(std::memcmp(&expected[i * width], &actual[i * width], width), 0)
              << name_of(dtype) << " " << name_of(op) << " element " << i;
        }
      }
    }
  }
  EXPECT_FALSE(wants_partials(DType::f32, ReduceOp::sum));
  EXPECT_FALSE(wants_partials(DType::bf16, ReduceOp::max));
}

}  // namespace
}  // namespace unisono::kernels
