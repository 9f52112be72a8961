// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/iteration/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "plan/iteration/rows.hpp"
#include "plan/iteration/testing/instances.hpp"

namespace unisono::plan {
namespace {

constexpr std::string_view kLive[] = {"wfbp",   "single",        "threshold", "groups",
                                      "merged", "merged-greedy", "priority"};

CostsNow line_costs(Line line) {
  return [line](std::string_view, DType) {
    return MethodCost{std::make_unique<LineCost>(line), nullptr, nullptr};
  };
}

// Edges run forward in a hidden order, so that there is no circle.
IterationGraph random_graph(Rng& rng, std::size_t count) {
  IterationGraph graph{std::vector<IterationUnit>(count), IterationEdges(count)};
  std::vector<std::size_t> hidden(count);
  for (std::size_t i = 0; i < count; ++i) hidden[i] = i;
  for (std::size_t i = count; i > 1; --i) std::swap(hidden[i - 1], hidden[rng.below(i)]);
  for (IterationUnit& unit : graph.units) {
    unit.ready_ns = static_cast<std::int64_t>(rng.below(4) == 0 ? 0 : rng.below(5'000'000));
    unit.bytes = static_cast<std::int64_t>(rng.below(1000));
    unit.priority = static_cast<std::int32_t>(rng.below(3));
    unit.kind = rng.below(5) == 0 ? 1 : 0;
    unit.alone = rng.below(10) == 0;
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      if (rng.below(6) == 0) graph.edges.add(hidden[i], hidden[j]);
    }
  }
  return graph;
}

TEST(GraphArranger, EveryPlannerKeepsToKindsEdgesAndLimits) {
  Rng rng(7);
  for (int round = 0; round < 400; ++round) {
    const IterationGraph graph = random_graph(rng, rng.below(24));
    IterationSettings settings;
    settings.fusion_bytes = static_cast<std::int64_t>(rng.below(3000));
    settings.partition_bytes = 800;
    if (rng.below(2) == 0) settings.bucket_bytes_max = static_cast<std::int64_t>(rng.below(3000));
    for (const std::string_view name : kLive) {
      const auto arranger = make_arranger(name, settings, line_costs(random_line(rng)));
      const IterationBuckets buckets = arranger->arrange(graph);
      EXPECT_EQ(fault_of(graph, buckets), "") << name << " in round " << round;
      EXPECT_EQ(arranger->arrange(graph), buckets) << name;
      for (const auto& bucket : buckets) {
        std::int64_t bytes = 0;
        for (const std::uint32_t unit : bucket) bytes += graph.units[unit].bytes;
        const bool limited = name != "single" && bucket.size() > 1;
        EXPECT_TRUE(!limited || bytes <= settings.fusion_bytes) << name;
        EXPECT_TRUE(bucket.size() == 1 || bytes <= settings.bucket_bytes_max) << name;
      }
    }
  }
}

TEST(GraphArranger, MergedIsNeverWorseThanWhatElseKeepsToItsLine) {
  Rng rng(8);
  for (int round = 0; round < 400; ++round) {
    const IterationGraph graph = random_graph(rng, 1 + rng.below(20));
    const CostsNow costs = line_costs(random_line(rng));
    const auto merged = make_arranger("merged", {}, costs);
    const double best = merged->finish_s(graph, merged->arrange(graph), {});
    for (const std::string_view name : {"wfbp", "single", "threshold", "merged-greedy"}) {
      const auto other = make_arranger(name, {}, costs);
      EXPECT_LE(best, other->finish_s(graph, other->arrange(graph), {}) * (1 + 1e-12)) << name;
    }
  }
}

TEST(GraphArranger, ACircleGivesNoBuckets) {
  IterationGraph graph{std::vector<IterationUnit>(3), IterationEdges(3)};
  graph.edges.add(0, 1);
  graph.edges.add(1, 0);
  for (const std::string_view name : kLive) {
    EXPECT_TRUE(make_arranger(name, {}, line_costs({1, 0}))->arrange(graph).empty()) << name;
  }
}

TEST(GraphArranger, PlannersOfMoreThanAllreducesAreNotMade) {
  EXPECT_EQ(make_arranger("two-phase", {}, line_costs({1, 0})), nullptr);
  EXPECT_EQ(make_arranger("sideways", {}, line_costs({1, 0})), nullptr);
}

// Three partitions of a late layer are ready at once and take a second each; the first layer's
// tensor is ready while the first of them is on its way, and overtakes the other two.
TEST(GraphArranger, PriorityLetsALateUrgentUnitOvertake) {
  IterationGraph graph{std::vector<IterationUnit>(4), IterationEdges(4)};
  for (std::size_t u = 0; u < 3; ++u) graph.units[u] = {.bytes = 100, .priority = 1};
  graph.units[3] = {.ready_ns = 500'000'000, .bytes = 10, .priority = 9};
  IterationSettings settings;
  settings.partition_bytes = 100;
  const auto priority = make_arranger("priority", settings, line_costs({0, 0.01}));
  EXPECT_EQ(priority->arrange(graph), (IterationBuckets{{0}, {3}, {1}, {2}}));
}

TEST(GraphArranger, OfUnitsReadyTogetherTheUrgentGoFirstAndThenThoseNamedFirst) {
  IterationGraph graph{std::vector<IterationUnit>(3), IterationEdges(3)};
  graph.units[2].priority = 1;
  const auto wfbp = make_arranger("wfbp", {}, line_costs({1, 0}));
  EXPECT_EQ(wfbp->arrange(graph), (IterationBuckets{{2}, {0}, {1}}));
}

// Encoded tensors take half of the time, and a fixed time more.
CostsNow halving_costs(Line line, double codec_s) {
  return [=](std::string_view codec, DType dtype) {
    MethodCost made;
    if (codec == "no such codec" || dtype == DType::i32) return made;
    made.transfer = std::make_unique<LineCost>(
        codec.empty() ? line : Line{line.latency_s + codec_s, line.per_byte_s / 2});
    made.algorithm = [](DType, std::int64_t bytes) {
      return MethodCost::Algorithm{bytes < 100 ? "" : "ring", "since tests say so"};
    };
    return made;
  };
}

TEST(GraphMethods, ACodecIsChosenWhereItIsAllowedAndEndsSooner) {
  IterationGraph graph{std::vector<IterationUnit>(5), IterationEdges(5)};
  for (IterationUnit& unit : graph.units) {
    unit = {.bytes = 1000, .sums = true, .codecs = "no such codec,fp16"};
  }
  graph.units[1].bytes = 10;            // encoding takes longer than it saves
  graph.units[2].codecs.clear();        // not allowed
  graph.units[3].dtype = DType::i32;    // not for such tensors
  graph.units[4].sums = false;          // no sum
  const auto wfbp = make_arranger("wfbp", {}, halving_costs({0.1, 0.01}, 1));
  const IterationBuckets buckets = {{0}, {1}, {2}, {3}, {4}};
  const IterationMethods methods = wfbp->methods(graph, buckets);
  EXPECT_EQ(fault_of(graph, buckets, methods, 1), "");
  EXPECT_EQ(methods[0].method, (BucketMethod{0, "ring", "fp16"}));
  EXPECT_EQ(methods[0].reason, "fp16 6100000 us, none 10100000 us; since tests say so");
  EXPECT_EQ(methods[1].method, (BucketMethod{0, "", ""}));
  EXPECT_EQ(methods[2].method, (BucketMethod{0, "ring", ""}));
  EXPECT_EQ(methods[3].method, (BucketMethod{0, "ring", ""}));
  EXPECT_EQ(methods[4].method, (BucketMethod{}));
}

// Fewer bits take longer to make: which of them is worth it follows from the wire, and none is where
// the wire is fast.
TEST(GraphMethods, EveryCodecThatIsAllowedMayWinAndSoMayNone) {
  struct Form {
    std::string_view name;
    double bytes, codec_s;              // of a byte: what is sent, and what encoding takes
  };
  constexpr Form kForms[] = {{"", 1, 0}, {"bf16", 0.5, 0.1}, {"fp8", 0.25, 0.3},
                             {"qsgd:8", 0.25, 0.4}, {"qsgd:4", 0.125, 0.5}};
  const auto chosen = [&](const char* planner, double wire_s, std::int64_t bytes,
                          const char* allowed) {
    const CostsNow costs = [&](std::string_view codec, DType) {
      MethodCost made;
      for (const Form& form : kForms) {
        // Encoded buckets ask the members once more.
        const double latency = codec.empty() ? 1 : 3;
        if (form.name != codec) continue;
        made.transfer =
            std::make_unique<LineCost>(Line{latency, form.bytes * wire_s + form.codec_s});
      }
      return made;
    };
    IterationGraph graph{{{.bytes = bytes, .sums = true, .codecs = allowed}}, IterationEdges(1)};
    const auto arranger = make_arranger(planner, {}, costs);
    const IterationBuckets buckets = arranger->arrange(graph);
    const IterationMethods methods = arranger->methods(graph, buckets);
    EXPECT_EQ(fault_of(graph, buckets, methods, 1), "");
    return methods.front().method.codec;
  };
  for (const char* planner : {"merged", "wfbp", "threshold"}) {
    const char* all = "bf16,fp8,qsgd:8,qsgd:4";
    EXPECT_EQ(chosen(planner, 0.1, 1000, all), "") << "the wire keeps up";
    EXPECT_EQ(chosen(planner, 0.5, 1000, all), "bf16");
    EXPECT_EQ(chosen(planner, 1.2, 1000, all), "fp8");
    EXPECT_EQ(chosen(planner, 10, 1000, all), "qsgd:4");
    EXPECT_EQ(chosen(planner, 10, 1000, "bf16,qsgd:8"), "qsgd:8") << "of those allowed";
    EXPECT_EQ(chosen(planner, 10, 1000, ""), "");
    EXPECT_EQ(chosen(planner, 0.5, 5, all), "") << "too short to be worth it";
  }
}

TEST(GraphMethods, OfEqualEndsTensorsStayAsTheyAre) {
  IterationGraph graph{{{.bytes = 1000, .sums = true, .codecs = "fp16"}}, IterationEdges(1)};
  const auto merged = make_arranger("merged", {}, halving_costs({0, 0.01}, 5));
  EXPECT_EQ(merged->methods(graph, merged->arrange(graph)).front().method.codec, "");
}

TEST(GraphMethods, MergedWithCodecsIsNeverWorseThanWithoutNorThanOthersWithThem) {
  Rng rng(21);
  for (int round = 0; round < 400; ++round) {
    IterationGraph graph = random_graph(rng, 1 + rng.below(16));
    for (IterationUnit& unit : graph.units) {
      unit.sums = true;
      if (unit.kind == 0) unit.codecs = "fp16";
    }
    const CostsNow costs = halving_costs(random_line(rng), rng.uniform());
    const auto merged = make_arranger("merged", {}, costs);
    const IterationBuckets buckets = merged->arrange(graph);
    EXPECT_EQ(fault_of(graph, buckets), "");
    const IterationMethods methods = merged->methods(graph, buckets);
    EXPECT_EQ(fault_of(graph, buckets, methods, 1), "");
    const double best = merged->finish_s(graph, buckets, methods);
    EXPECT_LE(best, merged->finish_s(graph, buckets, {}) * (1 + 1e-12));
    for (const std::string_view name : {"wfbp", "single", "threshold", "merged-greedy"}) {
      const auto other = make_arranger(name, {}, costs);
      const IterationBuckets arranged = other->arrange(graph);
      const double end = other->finish_s(graph, arranged, other->methods(graph, arranged));
      EXPECT_LE(best, end * (1 + 1e-12)) << name << " in round " << round;
    }
  }
}

TEST(GraphMethods, ABucketGoesThroughTheChannelThatIsFreeSoonest) {
  IterationGraph graph{std::vector<IterationUnit>(5), IterationEdges(5)};
  const std::int64_t bytes[] = {1000, 10, 10, 10, 1000};
  for (std::size_t u = 0; u < 5; ++u) graph.units[u] = {.bytes = bytes[u], .sums = true};
  graph.units[3].team = 1;
  IterationSettings settings;
  settings.channels = 2;
  const auto wfbp = make_arranger("wfbp", settings, line_costs({0, 0.01}));
  const IterationBuckets buckets = {{0}, {1}, {2}, {3}, {4}};
  const IterationMethods methods = wfbp->methods(graph, buckets);
  std::vector<std::uint32_t> channels;
  for (const MethodChoice& each : methods) channels.push_back(each.method.channel);
  EXPECT_EQ(channels, (std::vector<std::uint32_t>{0, 1, 1, 0, 1}));
  EXPECT_EQ(fault_of(graph, buckets, methods, 2), "");
  EXPECT_NEAR(wfbp->finish_s(graph, buckets, methods), 10.2, 1e-9);
}

TEST(IterationGraphFaults, OfMethodsAreFound) {
  IterationGraph graph{std::vector<IterationUnit>(2), IterationEdges(2)};
  graph.units[0] = {.team = 2, .sums = true, .codecs = "fp16"};
  const IterationBuckets buckets = {{0}, {1}};
  const auto fault = [&](BucketMethod first, BucketMethod second) {
    return fault_of(graph, buckets, {{std::move(first), ""}, {std::move(second), ""}}, 2);
  };
  EXPECT_EQ(fault({1, "ring", "fp16"}, {0, "", ""}), "");
  EXPECT_NE(fault({0, "ring", "fp16"}, {0, "", ""}), "");
  EXPECT_NE(fault({1, "ring", "bf16"}, {0, "", ""}), "");
  EXPECT_NE(fault({1, "", ""}, {2, "", ""}), "");
  EXPECT_NE(fault({1, "", ""}, {0, "ring", ""}), "");
  EXPECT_NE(fault_of(graph, buckets, {}, 2), "");
}

TEST(IterationGraphFaults, AreFoundAndNamed) {
  IterationGraph graph{std::vector<IterationUnit>(3), IterationEdges(3)};
  graph.edges.add(0, 1);
  graph.units[2].kind = 1;
  EXPECT_EQ(fault_of(graph, {{0}, {1}, {2}}), "");
  EXPECT_NE(fault_of(graph, {{0}, {1}}), "");
  EXPECT_NE(fault_of(graph, {{0, 1}, {2}}), "");
  EXPECT_NE(fault_of(graph, {{1}, {0}, {2}}), "");
  EXPECT_NE(fault_of(graph, {{0}, {1, 2}}), "");
  EXPECT_NE(fault_of(graph, {{0}, {1}, {2}, {}}), "");
  EXPECT_NE(fault_of(graph, {{0}, {0}, {1}, {2}}), "");
  EXPECT_NE(fault_of(graph, {{0}, {1}, {7}}), "");
}

double least_finish_of_allowed(const IterationProblem& problem) {
  double best = std::numeric_limits<double>::infinity();
  for_every_cut(problem.tensors.size(), [&](const std::vector<std::size_t>& ends) {
    double free = 0;
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      std::int64_t bytes = 0;
      for (std::size_t i = begin; i < end; ++i) {
        if (problem.tensors[i].joins_from > begin) return;
        bytes += problem.tensors[i].bytes;
      }
      free = std::max(free, problem.tensors[end - 1].ready_s) +
             problem.methods.front().transfer->seconds(bytes);
      begin = end;
    }
    best = std::min(best, free);
  });
  return best;
}

TEST(Merged, IsTheBestOfAllArrangementsThatAreAllowed) {
  Rng rng(9);
  for (int round = 0; round < 3000; ++round) {
    Instance instance = random_instance(rng, 1 + rng.below(9));
    for (std::size_t i = 0; i < instance.tensors.size(); ++i) {
      if (rng.below(3) == 0) instance.tensors[i].joins_from = rng.below(i + 1);
    }
    const IterationProblem problem = instance.problem();
    const double best = least_finish_of_allowed(problem);
    const Line line = *instance.cost().line();
    EXPECT_NEAR(merged_for_line(problem, line).finish_s, best, 1e-9);
    EXPECT_NEAR(merged_for_any_cost(problem).finish_s, best, 1e-9);
    for (const Arrangement& made : {merged_for_line(problem, line), merged_for_any_cost(problem)}) {
      for (const TimedBucket& bucket : made.buckets) {
        for (std::size_t i = bucket.begin; i < bucket.end; ++i) {
          EXPECT_LE(instance.tensors[i].joins_from, bucket.begin);
        }
      }
    }
  }
}

}  // namespace
}  // namespace unisono::plan
