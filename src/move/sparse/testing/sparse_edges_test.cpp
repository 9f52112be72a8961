// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What single sparse collectives promise beyond the contract: owners' cuts, codecs, top-k,
// disjoint streams, hosts, and what happens when members disagree.
#include <gtest/gtest.h>

#include <cmath>

#include "move/sparse/split.hpp"
#include "move/sparse/testing/sparse_team.hpp"
#include "move/testing/hosts.hpp"

namespace unisono::move {
namespace {

TEST(SparseCuts, EvenOnesCoverEverything) {
  EXPECT_EQ(even_cuts(10, 4), (Cuts{0, 2, 5, 7, 10}));
  EXPECT_EQ(even_cuts(2, 4), (Cuts{0, 0, 1, 1, 2}));
  EXPECT_EQ(even_cuts(0, 2), (Cuts{0, 0, 0}));
  const Cuts far = even_cuts(kStreamLengthMax, 30'000);
  EXPECT_EQ(far.back(), kStreamLengthMax);
  EXPECT_TRUE(std::is_sorted(far.begin(), far.end()));
}

TEST(SparseCuts, BalancedOnesGiveOwnersEquallyMany) {
  SparseTeam team(8, 3);
  team.fill(DType::f32, 100'000, Supports::skewed, 2);
  std::vector<SurveyAnswer> answers;
  for (const auto& one : team.in) answers.push_back(survey_answer(one.view()));
  const Cuts cuts = balanced_cuts(100'000, answers);
  EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
  EXPECT_EQ(cuts.size(), 9u);
  EXPECT_EQ(cuts.back(), 100'000u);
  std::size_t total = 0;
  for (const auto& one : team.in) total += one.nnz();
  for (std::size_t p = 0; p < 8; ++p) {
    std::size_t owned = 0;
    for (const auto& one : team.in) owned += one.view().slice(cuts[p], cuts[p + 1]).nnz();
    EXPECT_LT(owned, total / 8 * 3 / 2) << "owner " << p;
  }
}

TEST(SparseCuts, NonsenseFromOtherMembersStaysInside) {
  SurveyAnswer wild;
  wild.nnz = 7;
  wild.samples.fill(UINT64_MAX);
  const Cuts cuts = balanced_cuts(100, std::array{wild, SurveyAnswer{}, wild});
  EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
  EXPECT_EQ(cuts.back(), 100u);
  EXPECT_LE(cuts[2], 100u);
}

// Halves of float32, so that every value is known to be what decode() gives.
class HalvesCodec final : public GatherCodec {
 public:
  std::size_t bytes(std::size_t count) const override { return 2 * count; }
  void encode(int, std::uint64_t, DType dtype, const void* values, std::size_t count,
              std::span<std::byte> packed) override {
    kernels::cast(DType::bf16, packed.data(), dtype, values, count);
  }
  void decode(int, std::uint64_t, DType dtype, std::span<const std::byte> packed, void* values,
              std::size_t count) override {
    kernels::cast(dtype, values, DType::bf16, packed.data(), count);
  }
};

TEST(DsarSplitAllgather, TheOwnerHasWhatItsPackedSliceDecodesTo) {
  for (const int n : {1, 2, 5, 9}) {
    HalvesCodec codec;
    SparseWork work;
    work.codec = &codec;
    SparseTeam team(n, 4);
    team.fill(DType::f32, n == 9 ? 5 : 700, Supports::unequal, 20);
    team.run("dsar_split_allgather", work);
    team.expect_members_agree();
    Buffer sum = reduced_in_member_order(DType::f32, ReduceOp::sum, team.dense_parts({}));
    Buffer half(sum.size() / 2);
    kernels::cast(DType::bf16, half.data(), DType::f32, sum.data(), sum.size() / 4);
    kernels::cast(DType::f32, sum.data(), DType::bf16, half.data(), sum.size() / 4);
    EXPECT_EQ(densified(team.out[0], {}), sum) << "n " << n;
  }
}

// The k largest of the sum, the lowest indices of equal ones first.
std::set<std::uint64_t> largest(const SparseTeam& team, std::size_t k) {
  const Buffer whole = reduced_in_member_order(DType::f32, ReduceOp::sum, team.dense_parts({}));
  const auto sum = as_doubles(DType::f32, whole);
  std::vector<std::uint64_t> there;
  for (const std::uint64_t index : team.united()) there.push_back(index);
  std::stable_sort(there.begin(), there.end(), [&](std::uint64_t a, std::uint64_t b) {
    return std::abs(sum[a]) > std::abs(sum[b]);
  });
  there.resize(std::min(k, there.size()));
  return {there.begin(), there.end()};
}

TEST(Oktopk, KeepsExactlyTheLargestOfTheSum) {
  for (const int n : {1, 2, 3, 8, 17}) {
    for (const std::size_t k : {1u, 10u, 150u, 100'000u}) {
      SparseWork work;
      work.k = k;
      work.balanced = n == 8;
      SparseTeam team(n, k + static_cast<std::size_t>(n));
      team.fill(DType::f32, 2000, Supports::unequal, 5);
      team.run("oktopk", work);
      team.expect_members_agree();
      const auto expected = largest(team, k);
      stream::Stream result = team.out[0];
      result.sparsify({});
      std::set<std::uint64_t> actual;
      for (std::size_t i = 0; i < result.nnz(); ++i) actual.insert(result.index(i));
      EXPECT_EQ(actual, expected) << "n " << n << " k " << k;
      const Buffer sum = reduced_in_member_order(DType::f32, ReduceOp::sum, team.dense_parts({}));
      const Buffer whole = densified(result, {});
      for (const std::uint64_t index : expected) {
        EXPECT_EQ(std::memcmp(&sum[4 * index], &whole[4 * index], 4), 0);
      }
    }
  }
}

TEST(Oktopk, OfManyEqualValuesTheLowestIndicesAreKept) {
  SparseTeam team(4, 1);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<std::uint64_t> indices = {i, 100 + i, 500 + i, 900 + i};
    const std::vector<float> values(4, 2.5F);
    team.in.push_back(
        std::move(stream::Stream::from_pairs(DType::f32, 1000, indices, values.data())).value());
  }
  SparseWork work;
  work.k = 6;
  team.run("oktopk", work);
  team.expect_members_agree();
  ASSERT_EQ(team.out[0].nnz(), 6u);
  EXPECT_EQ(team.out[0].index(3), 3u);
  EXPECT_EQ(team.out[0].index(5), 101u);
}

TEST(Oktopk, WithoutKeepsAsManyAsTheMemberWithTheMost) {
  SparseTeam team(5, 2);
  team.fill(DType::f32, 5000, Supports::disjoint, 10);
  std::size_t most = 0;
  for (const auto& one : team.in) most = std::max(most, one.nnz());
  team.run("oktopk", {});
  EXPECT_EQ(team.out[0].nnz(), most);
}

TEST(Oktopk, AThresholdIsUsedAgainUntilItIsOldOrNoLongerFits) {
  constexpr int kMembers = 6;
  std::vector<TopkMemory> memory(kMembers);
  std::vector<std::uint64_t> bytes;
  const auto step = [&](double scale) {
    SparseTeam team(kMembers, 50);          // the same elements each time
    team.fill(DType::f32, 4000, Supports::unequal, 5);
    for (auto& one : team.in) {
      kernels::scale(DType::f32, one.values().data(), one.values().data(), scale, one.nnz());
    }
    SparseWork work;
    work.k = 100;
    work.reestimate_every = 3;
    for (std::size_t i = 0; i < team.n(); ++i) {
      work.mine = team.in[i].view();
      work.memory = &memory[i];
      team.machines.push_back(make_sparse_allreduce("oktopk", team.context(i), work, team.out[i]));
    }
    team.finish();
    team.expect_members_agree();
    bytes.push_back(team.hub.bytes());
    return team.out[0].nnz();
  };
  EXPECT_EQ(step(1), 100u);
  // All that are equal to the threshold are kept now.
  const std::size_t again = step(1);
  EXPECT_GE(again, 100u);
  EXPECT_LT(again, 110u);
  EXPECT_EQ(step(1), again);
  EXPECT_LT(bytes[1], bytes[0] / 2) << "the second step counts nothing";
  EXPECT_EQ(bytes[2], bytes[1]);
  EXPECT_EQ(step(1), 100u);
  EXPECT_EQ(bytes[3], bytes[0]) << "three steps later the threshold is old";
  EXPECT_GT(step(8), 200u) << "values that have grown are kept by an old threshold";
  EXPECT_EQ(step(8), 100u) << "which all members noticed";
  for (const auto& one : memory) {
    EXPECT_EQ(one.steps, 6u);
    EXPECT_EQ(one.threshold, memory[0].threshold);
  }
}

TEST(SparseAllgather, RefusesAnIndexOfTwoMembersWhereAsked) {
  SparseWork work;
  work.refuse_overlap = true;
  SparseTeam apart(4, 5), together(4, 5);
  apart.fill(DType::f32, 1000, Supports::disjoint, 30);
  apart.run("sparse_allgather", work);
  apart.expect_members_agree();
  EXPECT_EQ(densified(apart.out[0], {}),
            reduced_in_member_order(DType::f32, ReduceOp::sum, apart.dense_parts({})));
  together.fill(DType::f32, 1000, Supports::identical, 30);
  together.start("sparse_allgather", work);
  together.finish(true);
  for (const auto& machine : together.machines) {
    EXPECT_EQ(machine->trouble().code(), Code::invalid_argument);
    EXPECT_EQ(machine->step(), Step::waiting);
  }
}

TEST(SparseIdentical, OnlyValuesTravelWhereAllHaveTheSameIndices) {
  SparseWork work;
  work.dtype = DType::i32;
  SparseTeam alike(4, 5);
  alike.fill(DType::i32, 100'000, Supports::identical, 3);
  alike.run("identical", work);
  alike.expect_members_agree();
  expect_reduced(alike, work, false);
  // Values alone, in two rounds of four members, and the hashes.
  EXPECT_EQ(alike.hub.bytes(), alike.in[0].nnz() * 4 * 8 + 4 * 3 * 16);
  // One more element on one member is enough to make them differ.
  alike.in[2] = stream_of(DType::i32, 100'000, {1, 2, 3}, alike.hub.rng());
  alike.run("identical", work);
  alike.expect_members_agree();
  expect_reduced(alike, work, false);
}

TEST(SparseTrouble, MembersThatDisagreeAreNamed) {
  for (const SparseRow& row : sparse_algorithm_table()) {
    if (row.name == "dense" || row.name == "identical") continue;  // checked by their allreduce
    SparseTeam team(3, 8);
    team.fill(DType::f32, 300, Supports::unequal, 20);
    for (std::size_t i = 0; i < team.n(); ++i) {
      SparseWork work;
      work.k = 10;
      work.mine = team.in[i].view();
      work.sequence = i == 1 ? 4 : 3;
      team.machines.push_back(
          row.kind == Collective::allgather
              ? make_sparse_allgather(team.context(i), work, team.out[i])
              : make_sparse_allreduce(row.name, team.context(i), work, team.out[i]));
    }
    team.finish(true);
    bool named = false;
    for (const auto& machine : team.machines) {
      EXPECT_NE(machine->step(), Step::finished) << row.name;
      if (machine->trouble().ok()) continue;
      EXPECT_EQ(machine->trouble().code(), Code::mismatch);
      named = named || machine->trouble().culprit().rank == 1;
    }
    EXPECT_TRUE(named) << row.name;
  }
}

TEST(SparseTrouble, ALostRankLeavesTheMachinesWaiting) {
  for (const SparseRow& row : sparse_algorithm_table()) {
    SparseTeam team(4, 8);
    team.fill(DType::f32, 300, Supports::unequal, 20);
    SparseWork work;
    work.k = 10;
    team.start(row.name, work);
    team.machines[0]->step();
    team.hub.lose(2);
    team.finish(true);
    for (const auto& machine : team.machines) {
      EXPECT_NE(machine->step(), Step::finished) << row.name;
      EXPECT_FALSE(machine->describe().empty());
    }
  }
}

TEST(SparseHosts, MembersOfAHostAreReducedFirst) {
  std::uint64_t seed = 600;
  for (const std::string_view inner :
       {"ssar_split_allgather", "ssar_recursive_double", "sparse_ring", "dense", "identical"}) {
    for (const auto& sizes : std::vector<std::vector<int>>{{2, 2}, {3, 1, 2}, {1, 4}, {3, 3, 3}}) {
      for (const bool dealt : {false, true}) {
        for (const DType dtype : {DType::bf16, DType::i32}) {
          Hosts hosts(sizes, ++seed, dealt);
          SparseWork work;
          work.dtype = dtype;
          work.inner = inner;
          std::vector<stream::Stream> in, out(hosts.sets.size());
          std::vector<Buffer> parts;
          for (std::size_t i = 0; i < hosts.sets.size(); ++i) {
            in.push_back(stream_of(dtype, 500,
                                   indices_of(Supports::unequal, 500, i, out.size(), 15,
                                              hosts.hub.rng()),
                                   hosts.hub.rng()));
            parts.push_back(densified(in.back(), {}));
          }
          std::vector<std::unique_ptr<CollectiveMachine>> machines;
          for (std::size_t i = 0; i < in.size(); ++i) {
            work.mine = in[i].view();
            machines.push_back(
                make_sparse_allreduce("hierarchical", hosts.context(i, 3), work, out[i]));
          }
          hosts.run(machines);
          for (const auto& result : out) ASSERT_TRUE(stream::same(result, out[0])) << inner;
          if (dtype == DType::i32) {
            ASSERT_EQ(densified(out[0], {}), reduced_in_member_order(dtype, ReduceOp::sum, parts));
          } else {
            expect_rounded_once(dtype, ReduceOp::sum, parts, densified(out[0], {}));
          }
        }
      }
    }
  }
}

TEST(SparseTable, NamesAreKnownByTheirKind) {
  EXPECT_TRUE(sparse_algorithm_known(Collective::allreduce, "ssar_split_allgather"));
  EXPECT_FALSE(sparse_algorithm_known(Collective::allgather, "ssar_split_allgather"));
  EXPECT_TRUE(sparse_algorithm_known(Collective::allgather, "sparse_allgather"));
  for (const SparseRow& row : sparse_algorithm_table()) EXPECT_FALSE(row.about.empty());
}

}  // namespace
}  // namespace unisono::move
