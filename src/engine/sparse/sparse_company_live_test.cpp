// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sparse collectives in company: beside dense ones from several threads, with ranks that joined
// or left, in process sets, in teams, and what is said when ranks or callers are wrong.
#include <cmath>
#include <limits>

#include "engine/sparse/sparse_live.hpp"

namespace unisono::engine {
namespace {

constexpr std::int64_t kWhole = 500;

class SparseCompany : public testing::TestWithParam<std::tuple<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(Ways, SparseCompany,
                         testing::Combine(testing::Values("auto", "tcp"),
                                          testing::Values("coordinator", "cache", "topo")));

TEST_P(SparseCompany, BesideDenseOnesFromSeveralThreads) {
  Options options;
  options.transport = std::get<0>(GetParam());
  options.order = std::get<1>(GetParam());
  run_ranks(3, [](Engine& engine) {
    const int n = engine.size(), me = engine.rank();
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t step = 0; step < 15; ++step) {
          std::vector<float> dense(100, static_cast<float>(me + 1));
          const Ticket d = engine.allreduce<float>(cat("dense", t), dense, {.op = ReduceOp::sum});
          const std::uint64_t seed = t * 1000 + step;
          const Brought mine =
              brought(elements_of(Support::unequal, seed, me, n, kWhole), DType::f32, kWhole);
          const Ticket s = engine.sparse_allreduce(cat("sparse", t), mine.operand,
                                                   {.op = ReduceOp::sum});
          ASSERT_TRUE(s.wait().ok()) << s.wait().to_string();
          ASSERT_TRUE(d.wait().ok()) << d.wait().to_string();
          EXPECT_EQ(dense, std::vector<float>(100, 6.0f));
          EXPECT_TRUE(matches(s.sparse(), reduced(ReduceOp::sum, Support::unequal, seed, n, kWhole),
                              ReduceOp::sum));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }, options);
}

TEST_P(SparseCompany, ARankThatHasJoinedBringsNothing) {
  Options options;
  options.transport = std::get<0>(GetParam());
  options.order = std::get<1>(GetParam());
  run_ranks(3, [](Engine& engine) {
    const int steps = 2 + engine.rank();
    for (int step = 0; step < steps; ++step) {
      const std::int64_t indices[] = {1, 10 + engine.rank()};
      const float values[] = {1, 2};
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min}) {
        const Ticket ticket = engine.sparse_allreduce<float, std::int64_t>(
            cat("x", static_cast<int>(op)), indices, values, kWhole, {.op = op});
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
        Elements expected;
        for (Rank rank = 0; rank < 3; ++rank) {
          if (step >= 2 + rank) continue;
          expected[1] = op == ReduceOp::min ? 1.0f : expected[1] + 1;
          expected[10 + rank] = 2;
        }
        EXPECT_TRUE(matches(ticket.sparse(), expected, op)) << "step " << step;
      }
    }
    ASSERT_TRUE(engine.join_ranks().wait().ok());
  }, options);
}

// Of two values the one farther from zero, the first where they are equally far.
std::shared_ptr<const SparseOperator> farther(std::string name = "farther") {
  return std::make_shared<const SparseOperator>(SparseOperator{
      .name = std::move(name),
      .combine =
          [](void* into, const void* other, std::size_t count) {
            auto* a = static_cast<float*>(into);
            const auto* b = static_cast<const float*>(other);
            for (std::size_t i = 0; i < count; ++i) {
              if (std::abs(b[i]) > std::abs(a[i])) a[i] = b[i];
            }
          },
      .fill_neutral = [](void* out, std::size_t count) {
        std::fill_n(static_cast<float*>(out), count, 0.0f);
      }});
}

TEST(SparseOperators, OfTheCallerGoThroughEveryAlgorithm) {
  for (const int per_host : {0, 2}) {
    run_ranks(5, [](Engine& engine) {
      const auto me = static_cast<float>(engine.rank());
      const std::int64_t indices[] = {3, 9, 20 + engine.rank(), 9};
      const float values[] = {-me - 1, me + 1, 7, 0.5f};
      for (const char* algorithm :
           {"", "dense", "ssar_recursive_double", "ssar_split_allgather", "dsar_split_allgather",
            "sparse_ring", "identical", "hierarchical"}) {
        const Ticket ticket = engine.sparse_allreduce<float, std::int64_t>(
            "x", indices, values, kWhole,
            {.algorithm = algorithm, .user_operator = farther()});
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
        EXPECT_EQ(elements_of(ticket.sparse().as_pairs()),
                  (Elements{{3, -5.0f}, {9, 5.0f}, {20, 7.0f}, {21, 7.0f}, {22, 7.0f},
                            {23, 7.0f}, {24, 7.0f}})) << algorithm;
      }
    }, {}, per_host);
  }
}

TEST(SparseOperators, OfTheCallerAreComparedAndChecked) {
  run_ranks(2, [](Engine& engine) {
    const std::int64_t index[] = {3};
    const float value[] = {1};
    const auto reduce = [&](SparseSettings settings) {
      return engine.sparse_allreduce<float, std::int64_t>("x", index, value, kWhole, settings);
    };
    const Status other =
        reduce({.user_operator = farther(engine.rank() == 0 ? "farther" : "nearer")}).wait();
    EXPECT_EQ(other.code(), Code::mismatch);
    EXPECT_NE(other.message().find("operator=nearer"), std::string::npos) << other.message();
    EXPECT_NE(reduce({.user_operator = farther("")}).refusal().message().find("name"),
              std::string::npos);
    const auto empty = std::make_shared<const SparseOperator>(SparseOperator{.name = "empty"});
    EXPECT_NE(reduce({.user_operator = empty}).refusal().message().find("lacks combine"),
              std::string::npos);
    EXPECT_NE(reduce({.algorithm = "oktopk", .allow_loss = true, .user_operator = farther()})
                  .refusal().message().find("oktopk"), std::string::npos);
    EXPECT_NE(reduce({.prescale = 2, .user_operator = farther()}).refusal().message().find("scale"),
              std::string::npos);
    // A rank that has joined does not have the operator.
    if (engine.rank() == 0) {
      const Status alone = reduce({.user_operator = farther()}).wait();
      EXPECT_EQ(alone.code(), Code::mismatch) << alone.to_string();
      EXPECT_NE(alone.message().find("joined"), std::string::npos) << alone.message();
    }
    ASSERT_TRUE(engine.join_ranks().wait().ok());
  });
}

TEST(SparseSets, OnlyMembersTakePart) {
  run_ranks(4, [](Engine& engine) {
    auto set = engine.add_process_set({1, 3});
    ASSERT_TRUE(set.ok());
    const std::int64_t index[] = {engine.rank()};
    const float value[] = {1};
    const Ticket ticket = engine.sparse_allreduce<float, std::int64_t>(
        "x", index, value, kWhole, {.op = ReduceOp::sum, .process_set = *set});
    if (engine.rank() % 2 == 0) {
      EXPECT_EQ(ticket.wait().code(), Code::invalid_argument);
    } else {
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
      EXPECT_EQ(elements_of(ticket.sparse().as_pairs()), (Elements{{1, 1.0f}, {3, 1.0f}}));
    }
  });
}

TEST(SparseSets, TravelInTheTeamThatIsNamed) {
  Options options;
  options.teams = 2;
  for (const char* transport : {"auto", "tcp"}) {
    options.transport = transport;
    run_ranks(3, [](Engine& engine) {
      std::vector<Ticket> tickets;
      for (int i = 0; i < 8; ++i) {
        const std::int64_t index[] = {i};
        const float value[] = {1};
        tickets.push_back(engine.sparse_allreduce<float, std::int64_t>(
            cat("x", i), index, value, kWhole, {.op = ReduceOp::sum, .team = i % 3}));
      }
      for (int i = 0; i < 8; ++i) {
        const Ticket& ticket = tickets[static_cast<std::size_t>(i)];
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().to_string();
        EXPECT_EQ(elements_of(ticket.sparse().as_pairs()), (Elements{{i, 3.0f}}));
      }
    }, options);
  }
}

TEST(SparseErrors, AreFoundAtTheDoor) {
  run_ranks(1, [](Engine& engine) {
    const std::vector<std::int64_t> indices = {1, 2};
    const std::vector<float> values = {1, 2};
    const auto refusal = [&](SparseOperand operand, const SparseSettings& settings = {}) {
      return engine.sparse_allreduce("x", operand, settings).refusal().message();
    };
    SparseOperand fine = SparseOperand::of(std::span(indices), std::span(values), 10);
    EXPECT_EQ(refusal(fine), "");
    SparseOperand bad = fine;
    bad.length = 2;
    EXPECT_EQ(refusal(bad), "sparse_allreduce 'x': index 2, number 1 of 2, is not from 0 to 1; the "
                            "length is 2");
    const std::vector<std::int64_t> negative = {1, -3};
    EXPECT_NE(refusal(SparseOperand::of(std::span(negative), std::span(values), 10))
                  .find("index -3, number 1 of 2"), std::string::npos);
    EXPECT_NE(refusal(SparseOperand::of(std::span(indices), std::span(values).first(1), 10))
                  .find("not as many indices as values"), std::string::npos);
    bad = fine;
    bad.index_dtype = DType::f32;
    EXPECT_NE(refusal(bad).find("indices are float32"), std::string::npos);
    bad = fine;
    bad.length = -1;
    EXPECT_NE(refusal(bad).find("length -1"), std::string::npos);
    bad = fine;
    bad.values = nullptr;
    EXPECT_NE(refusal(bad).find("null"), std::string::npos);
    EXPECT_NE(refusal(fine, {.algorithm = "nonsense"}).find("unknown algorithm 'nonsense'"),
              std::string::npos);
    EXPECT_NE(refusal(fine, {.algorithm = "oktopk"}).find("allow_loss"), std::string::npos);
    EXPECT_NE(refusal(fine, {.op = ReduceOp::adasum}).find("absent elements"), std::string::npos);
    EXPECT_NE(refusal(fine, {.op = ReduceOp::max, .postscale = 2}).find("scale factors"),
              std::string::npos);
    EXPECT_NE(refusal(fine, {.process_set = 9}).find("no process set 9"), std::string::npos);
    EXPECT_NE(refusal(fine, {.top_k = 11}).find("top_k"), std::string::npos);
    EXPECT_NE(refusal(fine, {.refuse_overlap = true}).find("sparse_allgather only"),
              std::string::npos);
    const Ticket wrong_call = engine.submit({.kind = Collective::sparse_allreduce, .name = "x",
                                             .shape = {2}, .input = values.data()});
    EXPECT_NE(wrong_call.refusal().message().find("calls of their own"), std::string::npos);
    EXPECT_NE(engine.sparse_allreduce("unisono.x", fine).refusal().message().find("engine's own"),
              std::string::npos);
  });
}

TEST(SparseErrors, RanksThatDifferAreTold) {
  for (const char* order : {"coordinator", "tree", "cache", "topo"}) {
    Options options;
    options.order = order;
    run_ranks(3, [](Engine& engine) {
      const bool odd = engine.rank() == 1;
      const std::int64_t index[] = {1};
      const float value[] = {1};
      const double twice[] = {1};
      const auto told = [](const Ticket& ticket, std::string_view words) {
        const Status status = ticket.wait();
        EXPECT_EQ(status.code(), Code::mismatch) << status.to_string();
        EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("\"x\""), std::string::npos) << status.message();
      };
      const std::span<const std::int64_t> at(index);
      told(engine.sparse_allreduce<float>("x", at, std::span<const float>(value), odd ? 8 : 9),
           "rank 1: [8]");
      told(odd ? engine.sparse_allreduce<double>("x", at, std::span<const double>(twice), 9)
               : engine.sparse_allreduce<float>("x", at, std::span<const float>(value), 9),
           "rank 1: float64");
      told(engine.sparse_allreduce<float>("x", at, std::span<const float>(value), 9,
                                          {.expected_nnz = odd ? 3u : 4u}),
           "expected_nnz=3");
      told(engine.sparse_allreduce<float>("x", at, std::span<const float>(value), 9,
                                          {.algorithm = odd ? "dense" : ""}),
           "algorithm=dense");
      std::vector<float> dense(9, 1.0f);
      told(odd ? engine.allreduce<float>("x", dense)
               : engine.sparse_allreduce<float>("x", at, std::span<const float>(value), 9),
           "SPARSE_ALLREDUCE");
      // All of it concerned the one name only.
      const Ticket fine =
          engine.sparse_allreduce<float>("x", at, std::span<const float>(value), 9);
      EXPECT_TRUE(fine.wait().ok()) << fine.wait().to_string();
    }, options);
  }
}

TEST(SparseErrors, AnIndexOnTwoRanksFailsOnlyAGatherThatRefusesIt) {
  for (const char* transport : {"auto", "tcp"}) {
    Options options;
    options.transport = transport;
    run_ranks(3, [](Engine& engine) {
      const std::int64_t same[] = {4}, own[] = {engine.rank()};
      const float value[] = {2};
      const SparseSettings strict{.op = ReduceOp::sum, .refuse_overlap = true};
      const auto gather = [&](std::span<const std::int64_t> indices, const SparseSettings& how) {
        return engine.sparse_allgather(
            "x", SparseOperand::of(indices, std::span<const float>(value), kWhole), how);
      };
      const Ticket refused = gather(same, strict);
      EXPECT_EQ(refused.wait().code(), Code::mismatch);
      EXPECT_NE(refused.wait().message().find("same index"), std::string::npos);
      const Ticket apart = gather(own, strict);
      ASSERT_TRUE(apart.wait().ok()) << apart.wait().to_string();
      EXPECT_EQ(elements_of(apart.sparse().as_pairs()),
                (Elements{{0, 2.0f}, {1, 2.0f}, {2, 2.0f}}));
      const Ticket together = gather(same, {.op = ReduceOp::sum});
      ASSERT_TRUE(together.wait().ok());
      EXPECT_EQ(elements_of(together.sparse().as_pairs()), (Elements{{4, 6.0f}}));
    }, options);
  }
}

TEST(SparseErrors, ARankThatLeavesFailsTheTicketsOfTheOthers) {
  for (const char* order : {"coordinator", "cache"}) {
    Options options;
    options.order = order;
    run_ranks(3, [](Engine& engine) {
      if (engine.rank() == 2) return;
      const std::int64_t index[] = {1};
      const float value[] = {1};
      const Ticket ticket = engine.sparse_allreduce<float, std::int64_t>("x", index, value, 9);
      const Status status = ticket.wait();
      EXPECT_EQ(status.code(), Code::peer_left) << status.to_string();
      EXPECT_EQ(status.culprit().rank, 2);
      EXPECT_EQ(ticket.sparse().count, 0u);
    }, options);
  }
}

TEST(SparseErrors, NaNIsAValueLikeOthers) {
  run_ranks(2, [](Engine& engine) {
    const std::int64_t indices[] = {3, 4};
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float values[] = {engine.rank() == 0 ? nan : 1.0f, 1.0f};
    const Ticket ticket = engine.sparse_allreduce<float, std::int64_t>("x", indices, values,
                                                                       kWhole);
    ASSERT_TRUE(ticket.wait().ok());
    const Elements got = elements_of(ticket.sparse().as_pairs());
    EXPECT_TRUE(std::isnan(got.at(3)));
    EXPECT_EQ(got.at(4), 1.0f);
  });
}

TEST(SparseErrors, ANameInFlightIsRefused) {
  run_ranks(2, [](Engine& engine) {
    const std::int64_t index[] = {1};
    const float value[] = {1};
    Ticket first, second;
    if (engine.rank() == 0) {
      first = engine.sparse_allreduce<float, std::int64_t>("x", index, value, 9);
      second = engine.sparse_allreduce<float, std::int64_t>("x", index, value, 9);
      EXPECT_EQ(second.refusal().code(), Code::duplicate_name);
    }
    ASSERT_TRUE(engine.barrier().wait().ok());
    if (engine.rank() == 1) {
      first = engine.sparse_allreduce<float, std::int64_t>("x", index, value, 9);
    }
    EXPECT_TRUE(first.wait().ok());
  });
}

TEST(SparseExplanation, ListsWhatWasChosenAndWhatElseThereWas) {
  run_ranks(3, [](Engine& engine) {
    EXPECT_TRUE(engine.explain().sparse.empty());
    constexpr std::int64_t kLength = 4096;
    const Brought mine =
        brought(elements_of(Support::few, 1, engine.rank(), 3, kLength), DType::f32, kLength);
    const auto call = [&](const char* name, const char* algorithm) {
      return engine.sparse_allreduce(name, mine.operand,
                                     {.op = ReduceOp::sum, .algorithm = algorithm});
    };
    const Ticket chosen = call("a", "");
    ASSERT_TRUE(chosen.wait().ok());
    std::vector<float> picked(4096, 1.0F);
    ASSERT_TRUE(engine.allreduce<float>("b", picked, {.codec = "topk:512:4"}).wait().ok());
    const Explanation why = engine.explain();
    ASSERT_EQ(why.sparse.size(), 2U);
    const SparseChoice& first = why.sparse[0];
    EXPECT_EQ(first.collective, "sparse_allreduce");
    EXPECT_EQ(first.length, 4096U);
    EXPECT_GT(first.elements, 0);
    EXPECT_EQ(first.algorithm, chosen.sparse().algorithm);
    ASSERT_GT(first.candidates.size(), 3U);
    EXPECT_EQ(first.candidates[0].algorithm, first.algorithm);
    EXPECT_LE(first.candidates[0].predicted_us, first.candidates[1].predicted_us);
    EXPECT_EQ(why.sparse[1].collective, "topk:512:4");
    EXPECT_EQ(why.sparse[1].elements, 32);
    for (const SparseChoice& each : why.sparse) {
      EXPECT_NE(why.text().find(each.collective), std::string::npos) << why.text();
      EXPECT_NE(why.text().find(each.reason), std::string::npos) << why.text();
    }
    ASSERT_TRUE(call("c", "sparse_ring").wait().ok());
    const SparseChoice asked = engine.explain().sparse[0];
    EXPECT_EQ(asked.algorithm, "sparse_ring");
    EXPECT_TRUE(asked.candidates.empty());
    EXPECT_NE(asked.reason.find("asks"), std::string::npos) << asked.reason;
  });
}

}  // namespace
}  // namespace unisono::engine
