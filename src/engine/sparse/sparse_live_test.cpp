// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sparse collectives through whole engines: every algorithm, operator and dtype, all kinds of
// supports, under every order, over shared memory and over messages.
#include <cmath>

#include "engine/sparse/sparse_live.hpp"
#include "move/sparse/sparse.hpp"

namespace unisono::engine {
namespace {

constexpr Support kSupports[] = {Support::few,  Support::identical, Support::disjoint,
                                 Support::none, Support::one,       Support::unequal,
                                 Support::many};

class SparseLive : public testing::TestWithParam<std::tuple<int, const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Ways, SparseLive,
                         testing::Combine(testing::Values(1, 2, 3, 5, 8),
                                          testing::Values("auto", "tcp"),
                                          testing::Values("coordinator", "tree", "cache", "topo",
                                                          "auto")));

TEST_P(SparseLive, EverybodyGetsTheSum) {
  const auto [ranks, transport, order] = GetParam();
  Options options;
  options.transport = transport;
  options.order = order;
  run_ranks(ranks, [](Engine& engine) {
    const int n = engine.size(), me = engine.rank();
    constexpr std::int64_t kLength = 640;
    // Two names a step, so that steps repeat and may be planned; what each brings varies.
    for (std::uint64_t step = 0; step < 21; ++step) {
      const Support support = kSupports[step % std::size(kSupports)];
      Brought a = brought(elements_of(support, step, me, n, kLength), DType::f32, kLength);
      const Brought b =
          brought(elements_of(Support::few, step + 100, me, n, kLength), DType::f32, kLength);
      const Ticket sum = engine.sparse_allreduce("a", a.operand, {.op = ReduceOp::sum});
      // The engine has a copy.
      std::fill(a.indices.begin(), a.indices.end(), -1);
      std::fill(a.values.begin(), a.values.end(), std::byte{0xFF});
      const Ticket gathered = engine.sparse_allgather("b", b.operand, {.op = ReduceOp::max});
      ASSERT_TRUE(sum.wait().ok()) << sum.wait().to_string();
      ASSERT_TRUE(gathered.wait().ok()) << gathered.wait().to_string();
      EXPECT_TRUE(matches(sum.sparse(), reduced(ReduceOp::sum, support, step, n, kLength),
                          ReduceOp::sum)) << "step " << step;
      EXPECT_TRUE(matches(gathered.sparse(),
                          reduced(ReduceOp::max, Support::few, step + 100, n, kLength),
                          ReduceOp::max)) << "step " << step;
      EXPECT_EQ(sum.output().shape, Shape{kLength});
    }
  }, options);
}

TEST(SparseAlgorithms, EachCanBeAskedFor) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const int per_host : {0, 2}) {
      run_ranks(ranks, [](Engine& engine) {
        const int n = engine.size(), me = engine.rank();
        constexpr std::int64_t kLength = 300;
        std::uint64_t seed = 0;
        for (const move::SparseRow& row : move::sparse_algorithm_table()) {
          if (row.kind != Collective::allreduce) continue;
          for (const Support support : kSupports) {
            const Brought mine =
                brought(elements_of(support, ++seed, me, n, kLength), DType::f32, kLength);
            // With room for all of them, nothing is left out but zeros.
            const Ticket ticket = engine.sparse_allreduce(
                "x", mine.operand,
                {.op = ReduceOp::sum, .algorithm = std::string(row.name), .allow_loss = row.lossy,
                 .top_k = row.lossy ? std::uint64_t{kLength} : 0u});
            ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
            EXPECT_EQ(ticket.sparse().algorithm, row.name);
            Elements expected = reduced(ReduceOp::sum, support, seed, n, kLength);
            if (!row.lossy) {
              EXPECT_TRUE(matches(ticket.sparse(), expected, ReduceOp::sum)) << row.name;
              continue;
            }
            // Zeros are the smallest elements: they may be among the largest or not.
            Elements got = elements_of(ticket.sparse().as_pairs());
            for (Elements* each : {&got, &expected}) {
              std::erase_if(*each, [](const auto& element) { return element.second == 0; });
            }
            EXPECT_EQ(got, expected) << row.name;
          }
        }
      }, {}, per_host);
    }
  }
}

TEST(SparseAlgorithms, LossyOnesKeepTheLargestElements) {
  Options options;
  options.transport = "tcp";
  run_ranks(3, [](Engine& engine) {
    for (int step = 0; step < 40; ++step) {
      std::vector<std::int32_t> indices;
      std::vector<float> values;
      for (int i = 0; i < 50; ++i) {
        indices.push_back(i * 7);
        values.push_back(static_cast<float>(i < 10 ? 100 + i : i));
      }
      const Ticket ticket = engine.sparse_allreduce<float, std::int32_t>(
          "x", indices, values, 1000,
          {.op = ReduceOp::sum, .algorithm = "oktopk", .allow_loss = true, .top_k = 10});
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
      const Elements got = elements_of(ticket.sparse().as_pairs());
      ASSERT_EQ(got.size(), 10u);
      for (const auto& [index, value] : got) {
        EXPECT_EQ(value, 3 * static_cast<float>(100 + index / 7));
      }
    }
  }, options);
}

TEST(SparseAlgorithms, GatheredInFewBitsSumsAreRightOnAverage) {
  Options options;
  options.transport = "tcp";
  run_ranks(3, [](Engine& engine) {
    constexpr std::int64_t kLength = 5000;
    std::vector<std::int64_t> indices;
    std::vector<float> values;
    for (std::int64_t i = 0; i < kLength; i += 2) {
      indices.push_back(i);
      values.push_back(static_cast<float>(i % 100) / 100);
    }
    for (const int bits : {2, 4, 8}) {
      // Sums are at most 2.94, and so is the scale; codes are a level apart.
      const double level = 2.94 / ((1 << (bits - 1)) - 1);
      double error = 0;
      std::size_t elements = 0;
      for (int step = 0; step < 8; ++step) {
        const Ticket ticket = engine.sparse_allreduce<float, std::int64_t>(
            "x", indices, values, kLength,
            {.op = ReduceOp::sum, .algorithm = "dsar_split_allgather", .allow_loss = true,
             .gather_bits = bits});
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
        const SparseResult result = ticket.sparse();
        ASSERT_TRUE(result.dense);
        for (const auto& [index, value] : elements_of(result)) {
          const double sum = index % 2 == 0 ? 3.0 * static_cast<double>(index % 100) / 100 : 0.0;
          ASSERT_LE(std::abs(value - sum), level * 1.001) << "element " << index;
          if (sum == 0) {
            ASSERT_EQ(value, 0.0f);
          }
          error += value - sum;
          ++elements;
        }
        // The same bits everywhere.
        std::vector<std::int32_t> most(static_cast<std::size_t>(kLength));
        std::memcpy(most.data(), result.values.data(), result.values.size());
        const std::vector<std::int32_t> mine = most;
        const Ticket all = engine.allreduce<std::int32_t>("most", most, {.op = ReduceOp::max});
        ASSERT_TRUE(all.wait().ok());
        EXPECT_EQ(most, mine);
      }
      // Five times the deviation of as many independent errors of at most half a level each.
      EXPECT_LT(std::abs(error), 5 * level / 2 * std::sqrt(static_cast<double>(elements))) << bits;
    }
  }, options);
}

class SparseTypes : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Ways, SparseTypes, testing::Values("auto", "tcp"));

TEST_P(SparseTypes, EveryOperatorOnEveryDtype) {
  Options options;
  options.transport = GetParam();
  run_ranks(2, [](Engine& engine) {
    const int n = engine.size(), me = engine.rank();
    constexpr std::int64_t kLength = 200;
    std::uint64_t seed = 0;
    for (int d = 0; d < kDTypeCount; ++d) {
      for (int o = 0; o < kElementwiseOpCount; ++o) {
        const auto dtype = static_cast<DType>(d);
        const auto op = static_cast<ReduceOp>(o);
        const bool logical = op == ReduceOp::logical_and || op == ReduceOp::logical_or;
        const bool boolean = dtype == DType::boolean;
        const Brought mine =
            brought(elements_of(Support::few, ++seed, me, n, kLength), dtype, kLength);
        const Ticket ticket =
            engine.sparse_allreduce(cat(name_of(dtype), name_of(op)), mine.operand, {.op = op});
        if (logical && !boolean) {
          EXPECT_EQ(ticket.refusal().code(), Code::invalid_argument);
          continue;
        }
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
        Elements expected = reduced(op, Support::few, seed, n, kLength);
        for (auto& [index, value] : expected) {
          if (boolean) value = value != 0 ? 1.0f : 0.0f;
          if (op == ReduceOp::average && !boolean) value /= 2;
          if (dtype >= DType::i8) value = static_cast<float>(static_cast<int>(value));
        }
        EXPECT_TRUE(matches(ticket.sparse(), expected, op)) << name_of(dtype) << " " << name_of(op);
      }
    }
  }, options);
}

TEST(SparseChoice, FollowsFromTheCountsThatTheRanksAgreedOn) {
  Options options;
  options.transport = "tcp";
  run_ranks(4, [](Engine& engine) {
    constexpr std::int64_t kLength = 1 << 16;
    const auto algorithm = [&](std::int64_t count, SparseSettings settings) {
      std::vector<std::int64_t> indices;
      for (std::int64_t i = 0; i < count; ++i) indices.push_back(i * (kLength / count));
      const std::vector<float> ones(indices.size(), 1.0f);
      // One rank has next to nothing, and chooses as the others do.
      if (engine.rank() == 2) indices.resize(1);
      const Ticket ticket = engine.sparse_allreduce<float, std::int64_t>(
          "x", indices, std::span(ones).first(indices.size()), kLength, settings);
      EXPECT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
      return std::string(ticket.sparse().algorithm);
    };
    EXPECT_EQ(algorithm(kLength, {}), "dense");
    const std::string few = algorithm(32, {});
    EXPECT_NE(few, "dense");
    EXPECT_NE(few, "oktopk");
    EXPECT_EQ(algorithm(32, {.expected_nnz = kLength}), "dense");
    EXPECT_EQ(algorithm(kLength, {.expected_nnz = 32}), few);
    EXPECT_EQ(algorithm(32, {.algorithm = "sparse_ring"}), "sparse_ring");
  }, options);
}

TEST(SparseChoice, CountsThatAreAboutAlikeAreAnsweredFromTheCache) {
  Options options;
  options.order = "cache";
  run_ranks(3, [](Engine& engine) {
    const std::vector<float> values(1000, 1.0f);
    std::vector<std::int64_t> indices(1000);
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i * 9);
    const auto exchange = [&](std::size_t count) {
      const Ticket ticket = engine.sparse_allreduce<float, std::int64_t>(
          "x", std::span(indices).first(count), std::span(values).first(count), 10'000,
          {.op = ReduceOp::sum});
      ASSERT_TRUE(ticket.wait().ok());
      EXPECT_EQ(elements_of(ticket.sparse().as_pairs()).at(0), 3.0f);
    };
    const auto mine = static_cast<std::size_t>(engine.rank()) * 100 + 780;
    exchange(mine);
    const std::uint64_t misses = engine.stats().cache_misses;
    for (const std::size_t more : {1u, 5u, 0u, 9u, 14u}) exchange(mine + more);
    EXPECT_EQ(engine.stats().cache_misses, misses);
    exchange(10);
    EXPECT_GT(engine.stats().cache_misses, misses);
  }, options);
}

TEST(SparseResults, OutliveTicketAndEngine) {
  std::vector<SparseResult> kept(2);
  run_ranks(2, [&](Engine& engine) {
    const std::int32_t indices[] = {7, 3, 7};
    const double values[] = {1, 2, 4};
    Ticket ticket = engine.sparse_allreduce<double, std::int32_t>("x", indices, values, 1000,
                                                                  {.op = ReduceOp::sum});
    ASSERT_TRUE(ticket.wait().ok());
    kept[static_cast<std::size_t>(engine.rank())] = ticket.sparse();
  });
  for (const SparseResult& result : kept) {
    EXPECT_EQ(elements_of(result), (Elements{{3, 4.0f}, {7, 10.0f}}));
    EXPECT_EQ(result.dtype, DType::f64);
    EXPECT_EQ(result.length, 1000);
  }
}

TEST(SparseResults, ScalesAndDivides) {
  run_ranks(4, [](Engine& engine) {
    const std::int64_t index[] = {5, static_cast<std::int64_t>(engine.rank()) + 10};
    const float values[] = {1, 3};
    const Ticket ticket = engine.sparse_allreduce<float, std::int64_t>(
        "x", index, values, 100'000, {.prescale = 2, .postscale = 10});
    ASSERT_TRUE(ticket.wait().ok());
    EXPECT_EQ(elements_of(ticket.sparse().as_pairs()),
              (Elements{{5, 20.0f}, {10, 15.0f}, {11, 15.0f}, {12, 15.0f}, {13, 15.0f}}));
  });
}

}  // namespace
}  // namespace unisono::engine
