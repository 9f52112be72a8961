// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Reducescatter and alltoall over several hosts.
#include <gtest/gtest.h>

#include <numeric>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "move/algorithms.hpp"
#include "move/testing/hosts.hpp"
#include "move/testing/oracle.hpp"

namespace unisono::move {
namespace {

using Machines = std::vector<std::unique_ptr<CollectiveMachine>>;

// Every division of up to 17 ranks that differs in kind: equal, one alone, all different, many.
const std::vector<std::vector<int>> kDivisions = {
    {2, 1}, {1, 2}, {2, 2}, {3, 1}, {2, 3}, {4, 2, 1}, {1, 1, 3}, {3, 3}, {7, 1}, {4, 4},
    {3, 3, 3}, {5, 4, 3}, {1, 6, 3, 2}, {9, 8}, {2, 1, 1, 1, 1, 1, 1, 1, 1, 1}};

Extents ragged_parts(std::size_t n, std::size_t width, std::size_t scale, Rng& rng) {
  Extents counts;
  for (std::size_t i = 0; i < n; ++i) {
    counts.push_back(rng.below(3) == 0 ? 0 : width * rng.below(scale + 1));
  }
  return counts;
}

std::size_t sum_of(const Extents& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

void check_parts(Hosts& hosts, DType dtype, ReduceOp op, std::size_t scale, std::uint64_t bucket) {
  const std::size_t n = hosts.sets.size();
  SCOPED_TRACE(cat("n ", n, " ", name_of(dtype), " ", name_of(op), " scale ", scale, " bucket ",
                   bucket));
  const Extents counts = ragged_parts(n, size_of(dtype), scale, hosts.hub.rng());
  const auto parts = random_parts(n, dtype, sum_of(counts) / size_of(dtype), hosts.hub.rng());
  std::vector<Buffer> out;
  for (const std::size_t count : counts) out.emplace_back(count);
  Machines machines;
  for (std::size_t i = 0; i < n; ++i) {
    machines.push_back(make_reducescatter(hosts.context(i, bucket), dtype, op, parts[i], counts,
                                          out[i], "hierarchical"));
  }
  hosts.run(machines);
  Buffer all;
  for (const auto& part : out) all.insert(all.end(), part.begin(), part.end());
  if (order_matters(dtype, op)) {
    expect_rounded_once(dtype, op, parts, all);
  } else {
    ASSERT_EQ(all, reduced_in_member_order(dtype, op, parts));
  }
}

TEST(HostsReducescatter, RaggedForEveryDivisionDTypeAndOperator) {
  std::uint64_t seed = 300;
  for (const auto& sizes : kDivisions) {
    for (const bool dealt : {false, true}) {
      Hosts hosts(sizes, ++seed, dealt);
      for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
        for (const std::size_t scale : {0u, 1u, 50u}) {
          SCOPED_TRACE(join_text(sizes));
          const auto op = static_cast<ReduceOp>(++seed % kElementwiseOpCount);
          check_parts(hosts, static_cast<DType>(dtype), op, scale, seed);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(HostsReducescatter, LongerThanManyWindows) {
  std::uint64_t seed = 800;
  for (const auto& sizes : std::vector<std::vector<int>>{{2, 2}, {3, 1}, {4, 2, 1}}) {
    Hosts hosts(sizes, ++seed, true);
    for (const DType dtype : {DType::f32, DType::bf16, DType::u8}) {
      if (dtype != DType::bf16 && short_of_time()) continue;
      const std::size_t bytes = dtype == DType::bf16 ? 12'000'000 : 20'000'000;
      check_parts(hosts, dtype, ReduceOp::sum, bytes / size_of(dtype) / hosts.sets.size(), ++seed);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(HostsReducescatter, OneMemberMayOwnEverything) {
  Hosts hosts({3, 2}, 17);
  const Extents counts = {0, 0, 0, 5'000'000, 0};
  const auto parts = random_parts(5, DType::f16, counts[3] / 2, hosts.hub.rng());
  std::vector<Buffer> out;
  for (const std::size_t count : counts) out.emplace_back(count);
  Machines machines;
  for (std::size_t i = 0; i < 5; ++i) {
    machines.push_back(make_reducescatter_hierarchical(hosts.context(i, 1), DType::f16,
                                                       ReduceOp::sum, parts[i], counts, out[i]));
  }
  hosts.run(machines);
  expect_rounded_once(DType::f16, ReduceOp::sum, parts, out[3]);
}

void check_exchange(Hosts& hosts, std::size_t scale, std::uint64_t bucket) {
  const std::size_t n = hosts.sets.size();
  SCOPED_TRACE(cat("n ", n, " scale ", scale, " bucket ", bucket));
  Rng& rng = hosts.hub.rng();
  std::vector<Extents> send;
  Extents sent_by_each;
  std::vector<Buffer> in, out, wanted(n);
  for (std::size_t i = 0; i < n; ++i) {
    send.push_back(ragged_parts(n, 1, scale, rng));
    sent_by_each.push_back(sum_of(send[i]));
    in.emplace_back(sent_by_each[i]);
    for (auto& byte : in[i]) byte = static_cast<std::byte>(rng());
    auto from = in[i].begin();
    for (std::size_t j = 0; j < n; ++j) {
      const auto end = from + static_cast<std::ptrdiff_t>(send[i][j]);
      wanted[j].insert(wanted[j].end(), from, end);
      from = end;
    }
  }
  for (std::size_t i = 0; i < n; ++i) out.emplace_back(wanted[i].size());
  Machines machines;
  for (std::size_t i = 0; i < n; ++i) {
    Extents receive;
    for (const auto& counts : send) receive.push_back(counts[i]);
    machines.push_back(make_alltoall(hosts.context(i, bucket),
                                     {in[i], send[i], out[i], receive, sent_by_each},
                                     "hierarchical"));
  }
  hosts.run(machines);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], wanted[i]) << "rank " << i;
}

TEST(HostsAlltoall, RaggedForEveryDivision) {
  std::uint64_t seed = 400;
  for (const auto& sizes : kDivisions) {
    for (const bool dealt : {false, true}) {
      Hosts hosts(sizes, ++seed, dealt);
      for (const std::size_t scale : {0u, 1u, 7u, 1000u, 30'001u}) {
        SCOPED_TRACE(join_text(sizes));
        check_exchange(hosts, scale, ++seed);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(HostsAlltoall, LongerThanManyWindows) {
  std::uint64_t seed = 700;
  for (const auto& sizes : std::vector<std::vector<int>>{{2, 2}, {3, 1}, {4, 2, 1}}) {
    Hosts hosts(sizes, ++seed, true);
    check_exchange(hosts, 14'000'000 / hosts.sets.size(), ++seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(HostsAlltoall, SendsOneBundleForEachPairOfHostsAndPlaces) {
  Hosts hosts({4, 4, 4}, 5);
  const std::size_t n = hosts.sets.size();
  const Extents counts(n, 100), sent(n, n * 100);
  std::vector<Buffer> in(n, Buffer(n * 100)), out = in;
  Machines machines;
  for (std::size_t i = 0; i < n; ++i) {
    machines.push_back(make_alltoall(hosts.context(i, 1), {in[i], counts, out[i], counts, sent},
                                     "hierarchical"));
  }
  hosts.run(machines);
  EXPECT_EQ(hosts.hub.messages(), n * 2);
}

// A member that expects other counts than are sent says so instead of copying past their ends.
TEST(HostsAlltoall, RefusesCountsThatDoNotFit) {
  Hosts hosts({2, 1}, 6);
  const Extents send(3, 8), sent(3, 24), odd = {8, 9, 8};
  std::vector<Buffer> in(3, Buffer(24)), out = {Buffer(25), Buffer(24), Buffer(24)};
  Machines machines;
  for (std::size_t i = 0; i < 3; ++i) {
    machines.push_back(make_alltoall(hosts.context(i, 1),
                                     {in[i], send, out[i], i == 0 ? odd : send, sent},
                                     "hierarchical"));
  }
  for (int turn = 0; turn < 50; ++turn) {
    for (auto& machine : machines) static_cast<void>(machine->step());
  }
  EXPECT_EQ(machines[0]->trouble().code(), Code::mismatch);
  EXPECT_NE(machines[0]->trouble().message().find("rank 1 sends 8 bytes to rank 0, which expects 9"),
            std::string::npos)
      << machines[0]->trouble().message();
}

TEST(HostsChoice, OfPartsIsByNameOrBySize) {
  const auto scatter = [](Hosts& hosts, std::size_t each, std::string_view asked) {
    const std::size_t n = hosts.sets.size();
    Buffer data(n * each), out(each);
    const std::string text =
        make_reducescatter(hosts.context(0, 1), DType::f32, ReduceOp::sum, data, Extents(n, each),
                           out, asked)
            ->describe();
    return text.substr(0, text.find(','));
  };
  const auto exchange = [](Hosts& hosts, std::size_t each, std::string_view asked, bool known) {
    const std::size_t n = hosts.sets.size();
    Buffer data(n * each), out(n * each);
    const Extents counts(n, each), sent = known ? Extents(n, n * each) : Extents();
    const std::string text =
        make_alltoall(hosts.context(0, 1), {data, counts, out, counts, sent}, asked)->describe();
    return text.substr(0, text.find(','));
  };
  Hosts few({3, 1}, 1), many({5, 4}, 2);
  EXPECT_EQ(scatter(few, 400, "auto"), "reducescatter/direct");
  EXPECT_EQ(scatter(few, 400, "hierarchical"), "reducescatter/hierarchical");
  EXPECT_EQ(scatter(few, 64 << 10, "auto"), "reducescatter/hierarchical");
  EXPECT_EQ(scatter(few, 64 << 10, "direct"), "reducescatter/direct") << "deterministic";
  EXPECT_EQ(exchange(few, 100, "auto", true), "alltoall/pairwise");
  EXPECT_EQ(exchange(few, 100, "hierarchical", true), "alltoall/hierarchical");
  EXPECT_EQ(exchange(many, 100, "auto", true), "alltoall/pairwise");
  EXPECT_EQ(exchange(many, 100, "hierarchical", false), "alltoall/pairwise")
      << "nobody knows the sizes";
}

}  // namespace
}  // namespace unisono::move
