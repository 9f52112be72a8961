// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "cost/algorithms.hpp"

#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "cost/shortlist.hpp"
#include "model/options/choices.hpp"

namespace unisono::cost {
namespace {

std::string_view best_of(const Layout& layout, std::size_t bytes, bool hosts = false) {
  std::string_view best;
  double least = 0;
  for (const OptionChoice& choice : kAllreduceChoices) {
    if (choice.name == "auto" || (choice.name == "hierarchical" && !hosts)) continue;
    const double predicted = predict_allreduce(choice.name, layout, bytes, typical_costs());
    if (!best.empty() && predicted >= least) continue;
    best = choice.name;
    least = predicted;
  }
  return best;
}

TEST(Predictions, ExistForEveryAlgorithmAndGrowWithTheData) {
  for (const OptionChoice& choice : kAllreduceChoices) {
    if (choice.name == "auto") continue;
    for (int n = 2; n <= 17; ++n) {
      const Layout layout{.n = n, .hosts = n % 2 == 0 ? 2 : 1, .each = n % 2 == 0 ? n / 2 : n,
                          .least = n % 2 == 0 ? n / 2 : n};
      double before = 0;
      for (std::size_t bytes = 8; bytes <= std::size_t{64} << 20; bytes *= 4) {
        const double seconds = predict_allreduce(choice.name, layout, bytes, typical_costs());
        EXPECT_GE(seconds, before) << cat(choice.name, " n ", n, " bytes ", bytes);
        EXPECT_GT(seconds, 0);
        before = seconds;
      }
    }
  }
}

TEST(Predictions, PreferFewStepsForLittleDataAndFewBytesForMuch) {
  const Layout sixteen{.n = 16, .hosts = 16, .each = 1};
  EXPECT_EQ(best_of(sixteen, 64), "recursive_doubling");
  EXPECT_NE(best_of(sixteen, 64 << 20), "recursive_doubling");
  EXPECT_NE(best_of(sixteen, 64 << 20), "tree");
  const Layout hosts{.n = 8, .hosts = 2, .each = 4, .least = 4};
  EXPECT_EQ(best_of(hosts, 16 << 20, true), "hierarchical");
  const Layout unequal{.n = 8, .hosts = 2, .each = 7, .least = 1};
  EXPECT_EQ(best_of(unequal, 16 << 20, true), "hierarchical");
}

TEST(Predictions, OfPartsPreferHostsWhereThatSavesBytesOrMessages) {
  const Costs costs = typical_costs();
  for (const Layout& layout : {Layout{.n = 8, .hosts = 2, .each = 4, .least = 4},
                               Layout{.n = 7, .hosts = 3, .each = 4, .least = 1},
                               Layout{.n = 16, .hosts = 2, .each = 8, .least = 8}}) {
    for (const std::string_view flat : {"direct", "halving", "ring"}) {
      EXPECT_LT(predict_reducescatter("hierarchical", layout, 16 << 20, costs),
                predict_reducescatter(flat, layout, 16 << 20, costs))
          << flat << " n " << layout.n;
    }
    EXPECT_LT(predict_allgather("hierarchical", layout, 16 << 20, costs),
              predict_allgather("direct", layout, 16 << 20, costs));
  }
  const Layout many{.n = 16, .hosts = 2, .each = 8, .least = 8};
  EXPECT_LT(predict_alltoall("hierarchical", many, 16 * 100, costs),
            predict_alltoall("pairwise", many, 16 * 100, costs));
  EXPECT_GT(predict_alltoall("hierarchical", many, 16 << 20, costs),
            predict_alltoall("pairwise", many, 16 << 20, costs));
}

TEST(Predictions, OfAnAllgatherCountItsSteps) {
  const Layout layout{.n = 9, .hosts = 9, .each = 1};
  EXPECT_LT(predict_allgather("direct", layout, 900, typical_costs()),
            predict_allgather("ring", layout, 900, typical_costs()));
  EXPECT_EQ(predict_allgather("ring", {.n = 1}, 900, typical_costs()), 0);
}

TEST(Shortlist, KeepsTheBestAndWhatIsUsual) {
  const auto names = [](const std::vector<Candidate>& list) {
    std::vector<std::string_view> out;
    for (const Candidate& each : list) out.push_back(each.algorithm);
    return out;
  };
  using Names = std::vector<std::string_view>;
  const std::vector<Candidate> all = {
      {"ring", 5}, {"direct", 2}, {"tree", 3}, {"double_tree", 2.5}, {"halving_doubling", 3.5}};
  EXPECT_EQ(names(shortlist(all, "direct")), (Names{"direct", "double_tree", "tree"}));
  EXPECT_EQ(names(shortlist(all, "ring")), (Names{"direct", "double_tree", "ring"}));
  EXPECT_EQ(names(shortlist(all, "none")), (Names{"direct", "double_tree", "tree"}));
  EXPECT_EQ(names(shortlist({{"a", 1}, {"b", 2.1}}, "a")), (Names{"a"}));
}

TEST(Corrections, ReachNearSizesOfTheSameAlgorithm) {
  Corrections corrections;
  EXPECT_EQ(corrections.corrected("ring", 10, 2.0), 2.0);
  corrections.note("ring", 10, 1.0, 3.0);
  corrections.note("ring", 13, 1.0, 5.0);
  EXPECT_EQ(corrections.corrected("ring", 11, 2.0), 6.0);
  EXPECT_EQ(corrections.corrected("ring", 12, 2.0), 10.0);
  EXPECT_EQ(corrections.corrected("ring", 17, 2.0), 2.0);
  EXPECT_EQ(corrections.corrected("tree", 17, 2.0), 2.0);
}

TEST(Corrections, OfWhatWasNotTriedAreTheMeanOfWhatWas) {
  Corrections corrections;
  corrections.note("ring", 10, 1.0, 3.0);
  corrections.note("direct", 10, 1.0, 5.0);
  corrections.note("direct", 13, 1.0, 9.0);
  EXPECT_EQ(corrections.corrected("tree", 10, 2.0), 8.0);
  EXPECT_EQ(corrections.corrected("tree", 12, 2.0), 18.0);
  EXPECT_EQ(corrections.corrected("ring", 12, 2.0), 6.0);
}

TEST(Layouts, CountHostsAndTheFullestOfThem) {
  Network network;
  network.host_of = {0, 0, 1, 0, 2};
  const Layout all = layout_of(network, Members::of({0, 1, 2, 3, 4}, 0));
  EXPECT_EQ(all.n, 5);
  EXPECT_EQ(all.hosts, 3);
  EXPECT_EQ(all.each, 3);
  EXPECT_EQ(all.least, 1);
  EXPECT_EQ(all.apart, 3 * 2 + 4 + 4);
  EXPECT_EQ(layout_of(network, Members::of({2, 4}, 2)).each, 1);
}

}  // namespace
}  // namespace unisono::cost
