// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What cost/ says about the bytes of sparse collectives, given what members really have, is what
// the machines send.
#include <gtest/gtest.h>

#include "cost/sparse_algorithms.hpp"
#include "move/sparse/split.hpp"
#include "move/sparse/testing/sparse_team.hpp"
#include "move/testing/hosts.hpp"

namespace unisono::move {
namespace {

// How many different indices some of the members have.
cost::UnionCount counted(const std::vector<stream::Stream>& in) {
  return [&in](int first, int count, std::uint64_t begin, std::uint64_t end) {
    std::set<std::uint64_t> all;
    for (int m = 0; m < count; ++m) {
      const auto& one = in[static_cast<std::size_t>(first + m) % in.size()];
      const stream::View slice = one.view().slice(begin, end);
      for (std::size_t i = 0; i < slice.nnz(); ++i) all.insert(slice.index(i));
    }
    return static_cast<double>(all.size());
  };
}

cost::SparseCase case_of(const SparseTeam& team, const SparseWork& work) {
  cost::SparseCase out;
  out.layout = cost::Layout{.n = static_cast<int>(team.n()), .each = static_cast<int>(team.n())};
  out.length = team.in[0].length();
  out.value_bytes = size_of(work.dtype);
  out.partials = work.op.has_partials(work.dtype);
  out.dense_multiplier = work.dense_multiplier;
  out.count = counted(team.in);
  out.balanced = work.balanced;
  if (work.balanced) {
    std::vector<SurveyAnswer> answers;
    for (const auto& one : team.in) answers.push_back(survey_answer(one.view()));
    out.cuts = balanced_cuts(out.length, answers);
  }
  return out;
}

TEST(SparseBytes, AreThoseOfTheModelForWhatMembersHave) {
  std::uint64_t seed = 100;
  for (const std::string_view algorithm :
       {"ssar_recursive_double", "ssar_split_allgather", "dsar_split_allgather", "sparse_ring",
        "sparse_allgather"}) {
    for (int n = 1; n <= 17; ++n) {
      for (const Supports kind : kAllSupports) {
        SparseWork work;
        ++seed;
        work.dtype = std::array{DType::f32, DType::bf16, DType::i64, DType::u8}[seed % 4];
        work.dense_multiplier = std::array{0.1, 0.5, 1.0, 3.0}[seed / 4 % 4];
        work.balanced = seed % 3 == 0 && algorithm.find("split") != algorithm.npos;
        SparseTeam team(n, seed);
        team.fill(work.dtype, n == 9 ? 5 : 600, kind, static_cast<unsigned>(1 + seed % 25));
        team.run(algorithm, work);
        ASSERT_EQ(static_cast<double>(team.hub.bytes()),
                  cost::sent_by_sparse(algorithm, case_of(team, work)))
            << algorithm << " n " << n << " supports " << static_cast<int>(kind) << " "
            << name_of(work.dtype) << " multiplier " << work.dense_multiplier << " balanced "
            << work.balanced;
      }
    }
  }
}

TEST(SparseBytes, OfLongStreamsInEveryFormat) {
  for (const std::string_view algorithm :
       {"ssar_recursive_double", "ssar_split_allgather", "sparse_ring", "sparse_allgather"}) {
    for (const unsigned percent : {1u, 6u}) {
      SparseWork work;
      SparseTeam team(4, percent);
      team.fill(work.dtype, 140'000, Supports::unequal, percent);
      team.run(algorithm, work);
      EXPECT_EQ(static_cast<double>(team.hub.bytes()),
                cost::sent_by_sparse(algorithm, case_of(team, work)))
          << algorithm;
    }
  }
}

TEST(SparseBytes, OfDenseAndIdenticalAreThoseOfTheirAllreduce) {
  for (const int n : {2, 3, 4, 7}) {
    for (const Supports kind : {Supports::identical, Supports::unequal}) {
      for (const std::string_view algorithm : {"dense", "identical"}) {
        SparseWork work;
        SparseTeam team(n, 9);
        team.fill(work.dtype, 900, kind, 20);
        team.run(algorithm, work);
        cost::SparseCase what = case_of(team, work);
        what.dense_algorithm =
            choose_allreduce("auto", team.context(0), work.dtype, 900 * sizeof(float));
        EXPECT_EQ(static_cast<double>(team.hub.bytes()), cost::sent_by_sparse(algorithm, what))
            << algorithm << " n " << n << " supports " << static_cast<int>(kind);
      }
    }
  }
}

TEST(SparseBytes, OfOktopkFollowWhatOwnersKeep) {
  for (const int n : {2, 5, 8}) {
    SparseWork work;
    work.k = 40;
    SparseTeam team(n, 17);
    team.fill(work.dtype, 3000, Supports::unequal, 6);
    team.run("oktopk", work);
    cost::SparseCase what = case_of(team, work);
    what.estimates = true;
    const Cuts cuts = even_cuts(3000, n);
    for (std::size_t p = 0; p + 1 < cuts.size(); ++p) {
      what.kept.push_back(
          static_cast<double>(team.out[0].view().slice(cuts[p], cuts[p + 1]).nnz()));
    }
    EXPECT_EQ(static_cast<double>(team.hub.bytes()), cost::sent_by_sparse("oktopk", what)) << n;
  }
}

TEST(SparseBytes, OfAHierarchyAreThoseWithinAndBetweenHosts) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const auto& [hosts_count, each] : {std::pair{2, 2}, std::pair{3, 4}, std::pair{4, 2}}) {
      for (const unsigned percent : {3u, 30u}) {
        Hosts hosts(hosts_count, each, percent);
        SparseWork work;
        work.dtype = dtype;
        std::vector<stream::Stream> in, out(hosts.sets.size());
        for (std::size_t i = 0; i < hosts.sets.size(); ++i) {
          in.push_back(stream_of(dtype, 800,
                                 indices_of(Supports::unequal, 800, i, hosts.sets.size(), percent,
                                            hosts.hub.rng()),
                                 hosts.hub.rng()));
        }
        std::vector<std::unique_ptr<CollectiveMachine>> machines;
        for (std::size_t i = 0; i < in.size(); ++i) {
          work.mine = in[i].view();
          machines.push_back(
              make_sparse_allreduce("hierarchical", hosts.context(i, 3), work, out[i]));
        }
        hosts.run(machines);
        cost::SparseCase what;
        what.layout = cost::Layout{.n = static_cast<int>(in.size()), .hosts = hosts_count,
                                   .each = each, .least = each};
        what.length = 800;
        what.value_bytes = size_of(dtype);
        what.partials = dtype == DType::f16;
        what.count = counted(in);
        EXPECT_EQ(static_cast<double>(hosts.hub.bytes()),
                  cost::sent_by_sparse("hierarchical", what))
            << hosts_count << " hosts of " << each << " percent " << percent;
      }
    }
  }
}

}  // namespace
}  // namespace unisono::move
