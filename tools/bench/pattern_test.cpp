// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

using Bytes = std::vector<std::byte>;
using Ints = std::vector<std::int32_t>;

constexpr Collective kMeasured[] = {Collective::allreduce, Collective::allgather,
                                    Collective::broadcast, Collective::reducescatter,
                                    Collective::alltoall};

std::uint64_t bits_of_small(DType dtype, int value) {
  std::uint64_t bits = 0;
  const Bytes element = encode_small(dtype, value);
  std::memcpy(&bits, element.data(), element.size());
  return bits;
}

Bytes filled(const Work& work, int ranks, int rank, int seed, int iteration) {
  Bytes input(static_cast<std::size_t>(work.bytes()));
  Pattern(work, ranks, rank).fill(input, seed, iteration);
  return input;
}

// What a collective of int32 leaves on `rank`, from the ranks' inputs and nothing else.
Ints done_by_hand(const Work& work, int ranks, int rank, int seed, int iteration) {
  const auto all = static_cast<std::size_t>(work.elements);
  const std::size_t share = all / static_cast<std::size_t>(ranks);
  const std::size_t mine = share * static_cast<std::size_t>(rank);
  std::vector<Ints> inputs;
  Ints sum(all), result;
  for (int r = 0; r < ranks; ++r) {
    const Bytes bytes = filled(work, ranks, r, seed, iteration);
    Ints input(all);
    std::memcpy(input.data(), bytes.data(), bytes.size());
    for (std::size_t j = 0; j < all; ++j) sum[j] += input[j];
    inputs.push_back(std::move(input));
  }
  const auto add = [&](const Ints& from, std::size_t first, std::size_t count) {
    for (std::size_t j = first; j < first + count; ++j) result.push_back(from[j]);
  };
  switch (work.collective) {
    case Collective::broadcast: add(inputs.front(), 0, all); break;
    case Collective::reducescatter: add(sum, mine, share); break;
    case Collective::allgather:
      for (const Ints& input : inputs) add(input, 0, all);
      break;
    case Collective::alltoall:
      for (const Ints& input : inputs) add(input, mine, share);
      break;
    default: add(sum, 0, all);
  }
  return result;
}

TEST(SmallIntegers, AreEncodedTheWayTheirTypeHoldsThem) {
  for (int value = 0; value <= 8; ++value) {
    EXPECT_EQ(bits_of_small(DType::f32, value),
              std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    EXPECT_EQ(bits_of_small(DType::f64, value),
              std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    EXPECT_EQ(bits_of_small(DType::i64, value), static_cast<std::uint64_t>(value));
  }
  EXPECT_EQ(bits_of_small(DType::f16, 3), 0x4200U);
  EXPECT_EQ(bits_of_small(DType::bf16, 3), 0x4040U);
  EXPECT_EQ(bits_of_small(DType::f8e4m3, 3), 0x44U);
  EXPECT_EQ(bits_of_small(DType::f8e5m2, 3), 0x42U);
  EXPECT_EQ(encode_small(DType::u16, 1).size(), 2U);
}

TEST(SmallIntegers, AreExactUpToAsManyRanksAsCanBeCheckedAndNoFurther) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const int most = ranks_checkable(dtype);
    EXPECT_NE(bits_of_small(dtype, most - 1), bits_of_small(dtype, most)) << name_of(dtype);
    EXPECT_EQ(bits_of_small(dtype, most + 1), bits_of_small(dtype, most)) << name_of(dtype);
  }
  EXPECT_EQ(ranks_checkable(DType::i8), 127);
}

TEST(Pattern, KnowsWhatEveryCollectiveLeavesOnEveryRank) {
  for (const Collective kind : kMeasured) {
    for (const int ranks : {1, 2, 3}) {
      const Work work = work_for(kind, DType::i32, 9000, ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        SCOPED_TRACE(cat(name_of(kind), ", rank ", rank, " of ", ranks));
        const Ints result = done_by_hand(work, ranks, rank, 2, 0);
        const auto bytes = std::as_bytes(std::span(result));
        const Pattern pattern(work, ranks, rank);
        EXPECT_EQ(pattern.result_bytes(), bytes.size());
        EXPECT_TRUE(pattern.right(bytes, 2, 0));
        EXPECT_FALSE(pattern.right(bytes, 3, 0)) << "a result of the block before";
        EXPECT_FALSE(pattern.right(bytes, 2, 1)) << "a result of the iteration before";
      }
    }
  }
}

TEST(Pattern, FindsADamagedByteWhereverItLies) {
  const Work work = work_for(Collective::allreduce, DType::i32, 9000, 2);
  Ints result = done_by_hand(work, 2, 1, 1, 0);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(result));
  const Pattern pattern(work, 2, 1);
  ASSERT_TRUE(pattern.right(bytes, 1, 0));
  for (const std::size_t at : {0, 3, 4, 4095, 4096, 4100, 8192, 8999}) {
    bytes[at] ^= std::byte{0x40};
    EXPECT_FALSE(pattern.right(bytes, 1, 0)) << at;
    bytes[at] ^= std::byte{0x40};
  }
}

TEST(Pattern, AResultOfAnotherSizeIsWrong) {
  const Work work = work_for(Collective::broadcast, DType::i32, 64, 2);
  const Bytes input = filled(work, 2, 0, 1, 0);
  const Pattern pattern(work, 2, 1);
  EXPECT_TRUE(pattern.right(input, 1, 0));
  EXPECT_FALSE(pattern.right(std::span(input).first(60), 1, 0));
  EXPECT_FALSE(pattern.right({}, 1, 0));
}

TEST(Pattern, TouchingMakesOfAnIterationTheNext) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Work work = work_for(Collective::allreduce, static_cast<DType>(i), 9000, 2);
    Bytes input = filled(work, 2, 1, 1, 0);
    Pattern(work, 2, 1).touch(input, 1, 3);
    EXPECT_EQ(input, filled(work, 2, 1, 1, 3)) << name_of(work.dtype);
    EXPECT_NE(input, filled(work, 2, 1, 1, 4)) << name_of(work.dtype);
  }
}

TEST(Pattern, HoldsForASingleElementOfEveryType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Work work = work_for(Collective::broadcast, static_cast<DType>(i), 1, 2);
    EXPECT_EQ(work.elements, 1);
    EXPECT_TRUE(Pattern(work, 2, 1).right(filled(work, 2, 0, 5, 7), 5, 7)) << name_of(work.dtype);
  }
}

TEST(Pattern, TheSumOfBooleansIsTheirOr) {
  const Work work = work_for(Collective::allreduce, DType::boolean, 9000, 3);
  Bytes either(static_cast<std::size_t>(work.bytes()));
  for (int rank = 0; rank < 3; ++rank) {
    const Bytes input = filled(work, 3, rank, 1, 2);
    for (std::size_t j = 0; j < input.size(); ++j) either[j] |= input[j];
  }
  EXPECT_TRUE(Pattern(work, 3, 0).right(either, 1, 2));
}

}  // namespace
}  // namespace unisono::tools
