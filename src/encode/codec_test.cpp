// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every cast promises, against a scalar oracle. One joins by its row in
// codec_table().
#include "encode/codec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/data/rng.hpp"
#include "kernels/element.hpp"
#include "kernels/kernels.hpp"

namespace unisono::encode {
namespace {

using Bytes = std::vector<std::byte>;

Bytes elements(DType dtype, std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(rng.below(200'000)) / 1000.0 - 50.0;
  Bytes out(count * size_of(dtype));
  kernels::cast(dtype, out.data(), DType::f64, values.data(), count);
  return out;
}

Bytes encode(const Codec& codec, DType dtype, const Bytes& in, std::size_t count, double prescale) {
  Bytes wire(codec.wire_bytes(dtype, count));
  codec.encode({.tensor = "t", .dtype = dtype, .op = ReduceOp::sum, .prescale = prescale,
                .elements = in.data(), .count = count, .wire = wire.data()});
  return wire;
}

class CastContract : public testing::TestWithParam<CodecRow> {};
INSTANTIATE_TEST_SUITE_P(All, CastContract, testing::ValuesIn(codec_table()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(CastContract, IsFoundByItsOwnName) {
  EXPECT_EQ(find_codec(GetParam().name), &GetParam().make());
  EXPECT_EQ(GetParam().make().name(), GetParam().name);
  EXPECT_FALSE(GetParam().about.empty());
}

TEST_P(CastContract, LeavesIntegersAndSmallFloatsAlone) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::f32 || dtype == DType::f64) continue;
    EXPECT_EQ(GetParam().make().wire_dtype(dtype), dtype);
    const Bytes in = elements(dtype, 77, 3);
    EXPECT_EQ(encode(GetParam().make(), dtype, in, 77, 1.0), in) << name_of(dtype);
  }
}

// One element at a time, as the standard's own conversions do it.
template <typename T>
void expect_casts(const Codec& codec, DType dtype, double prescale) {
  const DType wire = codec.wire_dtype(dtype);
  for (const std::size_t count : {0, 1, 7, 1024, 3001}) {
    const Bytes in = elements(dtype, count, count + 1);
    const Bytes bytes = encode(codec, dtype, in, count, prescale);
    ASSERT_EQ(bytes.size(), count * size_of(wire));
    Bytes out(in.size());
    codec.decode({.tensor = "t", .dtype = dtype, .divisor = 3, .postscale = 0.5,
                  .wire = bytes.data(), .count = count, .elements = out.data()});
    for (std::size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, in.data() + i * sizeof(T), sizeof(T));
      value = value * static_cast<T>(prescale);
      if (wire != dtype) {
        // No value here is halfway between two 16-bit floats in only one of float64 and float32.
        const auto single = static_cast<float>(value);
        value = wire == DType::f16 ? kernels::f32_from_f16(kernels::f16_from_f32(single))
                                   : kernels::f32_from_bf16(kernels::bf16_from_f32(single));
      }
      T got;
      std::memcpy(&got, out.data() + i * sizeof(T), sizeof(T));
      ASSERT_EQ(got, value * static_cast<T>(0.5 / 3.0)) << i << " of " << count;
    }
  }
}

TEST_P(CastContract, RoundsOnceAfterThePrescaleAndFinishesInTheTensorsOwnType) {
  for (const double prescale : {1.0, 0.25, 1.0 / 3.0}) {
    expect_casts<float>(GetParam().make(), DType::f32, prescale);
    expect_casts<double>(GetParam().make(), DType::f64, prescale);
  }
}

TEST_P(CastContract, JoinedRankSendsTheNeutralElement) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
    const DType wire = GetParam().make().wire_dtype(DType::f32);
    Bytes bytes(GetParam().make().wire_bytes(DType::f32, 9)), expected(bytes.size());
    GetParam().make().encode({.tensor = "t", .dtype = DType::f32, .op = op, .prescale = 0.5,
                        .elements = nullptr, .count = 9, .wire = bytes.data()});
    kernels::fill_neutral(wire, op, expected.data(), 9);
    EXPECT_EQ(bytes, expected) << name_of(op);
  }
}

TEST_P(CastContract, PartsGiveWhatTheWholeGives) {
  const Codec& codec = GetParam().make();
  const std::size_t count = 2500, cut = 1111;
  const Bytes in = elements(DType::f32, count, 5);
  const Bytes whole = encode(codec, DType::f32, in, count, 0.7);
  Bytes parts(whole.size());
  const std::size_t narrow = size_of(codec.wire_dtype(DType::f32));
  codec.encode({.tensor = "t", .dtype = DType::f32, .op = ReduceOp::sum, .prescale = 0.7,
                .elements = in.data(), .count = cut, .wire = parts.data()});
  codec.encode({.tensor = "t", .dtype = DType::f32, .op = ReduceOp::sum, .prescale = 0.7,
                .elements = in.data() + cut * 4, .count = count - cut,
                .wire = parts.data() + cut * narrow});
  EXPECT_EQ(parts, whole);
}

TEST(Codec, NoNameIsNoneAndUnknownNamesAreNull) {
  EXPECT_EQ(find_codec("")->name(), "none");
  EXPECT_EQ(find_codec("zip"), nullptr);
}

TEST(Codec, LargeValuesBecomeInfiniteInFp16AndStayFiniteInBf16) {
  const float large = 1e30f;
  Bytes in(4);
  std::memcpy(in.data(), &large, 4);
  for (const char* name : {"fp16", "bf16"}) {
    const Codec& codec = *find_codec(name);
    const Bytes wire = encode(codec, DType::f32, in, 1, 1.0);
    float back = 0;
    codec.decode({.tensor = "t", .dtype = DType::f32, .wire = wire.data(), .count = 1,
                  .elements = &back});
    EXPECT_EQ(std::isinf(back), name == std::string("fp16"));
  }
}

}  // namespace
}  // namespace unisono::encode
