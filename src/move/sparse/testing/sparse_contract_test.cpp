// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every sparse collective promises, for all algorithms of the table.
#include <gtest/gtest.h>

#include "base/testing/effort.hpp"
#include "move/sparse/testing/sparse_team.hpp"

namespace unisono::move {
namespace {

// Those that give the sum itself.
std::vector<std::string_view> exact_algorithms() {
  std::vector<std::string_view> names;
  for (const SparseRow& row : sparse_algorithm_table()) {
    if (!row.lossy) names.push_back(row.name);
  }
  return names;
}

bool keeps_member_order(std::string_view algorithm) {
  return algorithm == "ssar_split_allgather" || algorithm == "dsar_split_allgather" ||
         algorithm == "sparse_allgather";
}

void check(std::string_view algorithm, int n, std::uint64_t length, Supports kind,
           unsigned percent, SparseWork work, std::uint64_t seed) {
  SCOPED_TRACE(cat(algorithm, " n ", n, " length ", length, " supports ", static_cast<int>(kind),
                   " percent ", percent, " ", name_of(work.dtype), " ", name_of(work.op.op),
                   " balanced ", work.balanced, " seed ", seed));
  SparseTeam team(n, seed);
  team.fill(work.dtype, length, kind, percent);
  team.run(algorithm, work);
  if (testing::Test::HasFailure()) return;
  team.expect_members_agree();
  if (testing::Test::HasFatalFailure()) return;
  EXPECT_EQ(team.out[0].dtype(), work.dtype);
  EXPECT_EQ(team.out[0].length(), length);
  expect_reduced(team, work, keeps_member_order(algorithm));
}

TEST(SparseContract, EveryAlgorithmMemberCountSupportAndDType) {
  std::uint64_t seed = 5000;
  for (const auto algorithm : exact_algorithms()) {
    for (int n = 1; n <= 17; ++n) {
      for (const Supports kind : kAllSupports) {
        for (const std::uint64_t length : {0u, 1u, 7u, 131u}) {
          ++seed;
          SparseWork work;
          work.dtype = static_cast<DType>(seed % kDTypeCount);
          work.op.op = static_cast<ReduceOp>(seed / 3 % kElementwiseOpCount);
          if (!sparse_reducible(work.dtype, work.op)) work.op.op = ReduceOp::sum;
          work.balanced = seed % 2 == 0;
          check(algorithm, n, length, kind, static_cast<unsigned>(1 + seed % 40), work, seed);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(SparseContract, EveryDTypeAndOperator) {
  std::uint64_t seed = 20'000;
  for (const auto algorithm : exact_algorithms()) {
    for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
      for (int op = 0; op < kElementwiseOpCount; ++op) {
        SparseWork work;
        work.dtype = static_cast<DType>(dtype);
        work.op.op = static_cast<ReduceOp>(op);
        if (!sparse_reducible(work.dtype, work.op)) continue;
        check(algorithm, 5, 97, Supports::unequal, 30, work, ++seed);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(SparseContract, IntegersAreExactInLongStreams) {
  std::uint64_t seed = 30'000;
  for (const auto algorithm : exact_algorithms()) {
    for (const int n : {3, 8}) {
      SparseWork work;
      work.dtype = n == 3 ? DType::i64 : DType::i32;
      work.balanced = n == 3;
      check(algorithm, n, 150'003, n == 8 ? Supports::skewed : Supports::unequal, 3, work, ++seed);
      if (HasFailure()) return;
    }
  }
}

// What a sum of 16-bit floats loses by rounding often: 1 + 16 * 2^-9 is lost bit by bit in bf16.
TEST(SparseContract, ManySmallAddendsAreNotLost) {
  for (const auto algorithm : exact_algorithms()) {
    SparseTeam team(17, 31);
    for (std::size_t i = 0; i < team.n(); ++i) {
      const std::vector<float> wide(40, i == 0 ? 1.0F : 0x1.0p-9F);
      std::vector<std::uint16_t> values(wide.size());
      kernels::cast(DType::bf16, values.data(), DType::f32, wide.data(), wide.size());
      std::vector<std::uint64_t> indices(wide.size());
      for (std::size_t k = 0; k < indices.size(); ++k) indices[k] = 20 * k;
      team.in.push_back(
          std::move(stream::Stream::from_pairs(DType::bf16, 1000, indices, values.data())).value());
    }
    SparseWork work;
    work.dtype = DType::bf16;
    team.run(algorithm, work);
    const Buffer result = densified(team.out[0], {});
    EXPECT_EQ(as_doubles(DType::bf16, result)[20], 1.0 + 16 * 0x1.0p-9) << algorithm;
  }
}

TEST(SparseContract, TheSameBitsWhateverArrivesFirst) {
  for (const SparseRow& row : sparse_algorithm_table()) {
    std::optional<stream::Stream> first;
    for (std::uint64_t delays = 0; delays < 12; ++delays) {
      SparseTeam team(7, delays);
      Rng alike(99);
      for (std::size_t i = 0; i < team.n(); ++i) {
        team.in.push_back(stream_of(
            DType::f32, 5000, indices_of(Supports::unequal, 5000, i, 7, 8, alike), alike));
      }
      SparseWork work;
      work.k = 100;
      work.balanced = true;
      team.run(row.name, work);
      team.expect_members_agree();
      if (!first) first = team.out[0];
      EXPECT_TRUE(stream::same(team.out[0], *first)) << row.name;
    }
  }
}

// The product of 2x2 matrices of 8-bit numbers would not commute; neither does this: of two values
// the later one counts, and 0 is nothing.
TEST(SparseContract, AUsersOperatorIsAppliedInMemberOrder) {
  const kernels::UserOperator last{
      .name = "last",
      .combine =
          [](void* mine, const void* other, std::size_t count) {
            auto* to = static_cast<std::int32_t*>(mine);
            const auto* from = static_cast<const std::int32_t*>(other);
            for (std::size_t i = 0; i < count; ++i) to[i] = from[i] != 0 ? from[i] : to[i];
          },
      .fill_neutral =
          [](void* out, std::size_t count) { std::memset(out, 0, count * sizeof(std::int32_t)); }};
  for (const auto algorithm : exact_algorithms()) {
    // Around a ring the last one is another member for every segment.
    if (algorithm == "sparse_ring") continue;
    for (const unsigned percent : {5u, 60u}) {
      for (const int n : {1, 2, 6, 9}) {
        SparseTeam team(n, static_cast<std::uint64_t>(n) + percent);
        for (std::size_t i = 0; i < team.n(); ++i) {
          const auto indices =
              indices_of(Supports::unequal, 300, i, team.n(), percent, team.hub.rng());
          const std::vector<std::int32_t> values(indices.size(), static_cast<std::int32_t>(i + 1));
          team.in.push_back(
              std::move(stream::Stream::from_pairs(DType::i32, 300, indices, values.data()))
                  .value());
        }
        SparseWork work;
        work.dtype = DType::i32;
        work.op.user = &last;
        team.run(algorithm, work);
        team.expect_members_agree();
        std::vector<std::int32_t> expected(300, 0), actual(300);
        for (const auto& stream : team.in) {
          for (std::size_t k = 0; k < stream.nnz(); ++k) {
            std::memcpy(&expected[stream.index(k)], stream.values().data() + 4 * k, 4);
          }
        }
        const Buffer result = densified(team.out[0], work.op);
        std::memcpy(actual.data(), result.data(), result.size());
        EXPECT_EQ(actual, expected) << algorithm << " n " << n << " percent " << percent;
      }
    }
  }
}

// Streams grow round by round, so multipliers of all sizes make some round the one in which a
// stream becomes dense; 0 makes it the first, 10 none at all.
TEST(SparseContract, BecomingDenseInAnyRoundChangesNothing) {
  std::uint64_t seed = 40'000;
  for (const auto algorithm : exact_algorithms()) {
    for (const int n : {5, 16}) {
      std::set<bool> forms;
      for (const double multiplier : {0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.2, 10.0}) {
        for (const Supports kind : {Supports::disjoint, Supports::unequal, Supports::identical}) {
          SparseWork work;
          work.dtype = seed % 2 == 0 ? DType::f32 : DType::i16;
          work.dense_multiplier = multiplier;
          SparseTeam team(n, ++seed);
          team.fill(work.dtype, 400, kind, 12);
          team.run(algorithm, work);
          team.expect_members_agree();
          expect_reduced(team, work, keeps_member_order(algorithm));
          if (HasFailure()) {
            FAIL() << algorithm << " n " << n << " multiplier " << multiplier;
          }
          forms.insert(team.out[0].dense());
        }
      }
      // Some results are dense and some are not, but where the algorithm knows no other form.
      if (algorithm == "dense" || algorithm == "dsar_split_allgather") {
        EXPECT_EQ(forms, std::set<bool>{true}) << algorithm;
      } else {
        EXPECT_EQ(forms.size(), 2u) << algorithm;
      }
    }
  }
}

TEST(SparseContract, DenseContributionsAreAddedToSparseOnes) {
  for (const auto algorithm : exact_algorithms()) {
    for (const int n : {2, 5}) {
      SparseTeam team(n, 77);
      SparseWork work;
      team.fill(DType::f32, 500, Supports::unequal, 4);
      team.in.back().densify({});
      team.run(algorithm, work);
      team.expect_members_agree();
      expect_reduced(team, work, keeps_member_order(algorithm));
      EXPECT_TRUE(team.out[0].dense()) << algorithm;
    }
  }
}

TEST(SparseContract, IndicesMayBeWiderThan32Bits) {
  const std::uint64_t length = (std::uint64_t{1} << 33) + 3;
  for (const std::string_view algorithm :
       {"ssar_recursive_double", "ssar_split_allgather", "sparse_ring", "sparse_allgather"}) {
    for (const int n : {1, 3, 4}) {
      SparseTeam team(n, 5);
      for (std::size_t i = 0; i < team.n(); ++i) {
        const std::vector<std::uint64_t> indices = {i, 100, length / 2 + i, length - 1};
        const std::vector<std::int64_t> values = {1, 2, 3, 4};
        team.in.push_back(
            std::move(stream::Stream::from_pairs(DType::i64, length, indices, values.data()))
                .value());
      }
      SparseWork work;
      work.dtype = DType::i64;
      team.run(algorithm, work);
      team.expect_members_agree();
      const auto all = team.united();
      ASSERT_EQ(team.out[0].nnz(), all.size()) << algorithm;
      EXPECT_EQ(team.out[0].index(all.size() - 1), length - 1);
      std::int64_t last = 0;
      std::memcpy(&last, team.out[0].values().data() + 8 * (all.size() - 1), 8);
      EXPECT_EQ(last, 4 * n);
    }
  }
}

TEST(SparseContract, LongRunsOfSeeds) {
  if (!has_time()) GTEST_SKIP() << "only with UNISONO_SEED_FACTOR set, as make test-long does";
  Rng rng(123);
  for (int turn = 0; turn < 20'000; ++turn) {
    const auto names = exact_algorithms();
    SparseWork work;
    work.dtype = static_cast<DType>(rng.below(kDTypeCount));
    work.op.op = static_cast<ReduceOp>(rng.below(kElementwiseOpCount));
    if (!sparse_reducible(work.dtype, work.op)) continue;
    work.balanced = rng.below(2) == 0;
    work.dense_multiplier = static_cast<double>(rng.below(30)) / 10;
    const auto percent = static_cast<unsigned>(1 + rng.below(60));
    check(names[rng.below(names.size())], 1 + static_cast<int>(rng.below(17)), rng.below(3000),
          kAllSupports[rng.below(std::size(kAllSupports))], percent, work, rng());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace unisono::move
