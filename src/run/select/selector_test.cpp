// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/select/selector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "cost/algorithms.hpp"

namespace unisono::run {
namespace {

using testing::HasSubstr;

cost::Network measured_network() {
  cost::Network network;
  network.usable = true;
  network.costs = cost::typical_costs();
  network.within = cost::LinkClass::loopback;
  return network;
}

// One member's selector with what an engine would give it.
struct Chooser {
  explicit Chooser(int n, Options wanted = {}, cost::Network joined = measured_network(),
                   RememberedChoices* cache = nullptr)
      : options(std::move(wanted)), network(std::move(joined)) {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < n; ++rank) ranks.push_back(rank);
    members = Members::of(std::move(ranks), 0);
    selector = std::make_unique<Selector>(
        SelectorParts{.options = &options, .network = &network, .members = &members,
                      .remembered = cache != nullptr ? cache : &own,
                      .explanations = &explanations});
    // The first bucket tells what steps take; here, not more than links say.
    const Choice first = choose(8);
    if (first.opens) selector->learn(first, {.seconds = 1});
    explanations.forget(0, 0);
  }
  Choice choose(std::size_t bytes, DType dtype = DType::f32,
                Collective kind = Collective::allreduce) {
    return selector->choose({.dtype = dtype, .bytes = bytes, .kind = kind}, Time{});
  }
  AlgorithmChoice why() const { return explanations.all().at(0); }

  Options options;
  cost::Network network;
  Members members;
  RememberedChoices own;
  Explanations explanations;
  std::unique_ptr<Selector> selector;
};

std::vector<std::string_view> names_for(const Chooser& chooser, DType dtype) {
  return move::algorithm_candidates(Collective::allreduce, {.members = &chooser.members}, dtype,
                                    1 << 20);
}

// Runs trials until the choice is frozen; returns how often each algorithm was tried.
std::map<std::string_view, int> try_all(Chooser& chooser, std::size_t bytes,
                                        const std::map<std::string_view, double>& seconds) {
  std::map<std::string_view, int> tried;
  for (Choice choice = chooser.choose(bytes); choice.trial; choice = chooser.choose(bytes)) {
    ++tried[choice.algorithm];
    const auto it = seconds.find(choice.algorithm);
    chooser.selector->learn(choice, {.seconds = it == seconds.end() ? 1.0 : it->second});
    if (tried.size() > 20) break;
  }
  return tried;
}

TEST(Selector, TriesAFewAndKeepsTheFastest) {
  Chooser chooser(4);
  const std::string_view second = [&] {
    Chooser other(4);
    const Choice first = other.choose(1 << 20);
    other.selector->learn(first, {.seconds = 1});
    return other.choose(1 << 20).algorithm;
  }();
  const auto tried = try_all(chooser, 1 << 20, {{second, 0.5}});
  EXPECT_GE(tried.size(), 2u);
  EXPECT_LE(tried.size(), cost::kCandidatesMax);
  for (const auto& [name, times] : tried) EXPECT_EQ(times, 3) << name;
  EXPECT_EQ(chooser.choose(1 << 20).algorithm, second);
  EXPECT_EQ(chooser.choose((2 << 20) - 4).algorithm, second) << "of the same class";
  EXPECT_TRUE(chooser.choose(2 << 20).trial) << "of another class";
}

TEST(Selector, TriesWhatIsShortMoreOften) {
  Chooser chooser(4);
  for (const auto& [name, times] : try_all(chooser, 16 << 10, {})) EXPECT_EQ(times, 7) << name;
}

TEST(Selector, ARunWhoseMeetingsWereSlowDoesNotLookFast) {
  Chooser chooser(4);
  std::string_view slower;
  for (int run = 0;; ++run) {
    const Choice choice = chooser.choose(16 << 10);
    if (!choice.trial) {
      EXPECT_NE(choice.algorithm, slower);
      break;
    }
    ASSERT_LT(run, 40);
    if (choice.opens) {
      chooser.selector->learn(choice, {.seconds = 30e-6, .meeting_s = 10e-6});
      continue;
    }
    if (slower.empty() && choice.algorithm != "recursive_doubling") slower = choice.algorithm;
    // Once, all meetings of the slower one are disturbed, but not what it took itself.
    const bool slow = choice.algorithm == slower;
    chooser.selector->learn(choice, {.seconds = slow ? 40e-6 : 30e-6,
                                     .meeting_s = slow && run < 6 ? 38e-6 : 10e-6});
  }
}

TEST(Selector, SaysWhatItTriedAndWhy) {
  Chooser chooser(4);
  const Choice first = chooser.choose(1 << 20);
  EXPECT_FALSE(chooser.why().frozen);
  chooser.selector->learn(first, {.seconds = 0.25});
  EXPECT_THAT(chooser.why().reason, HasSubstr("on trial, after 1 of"));
  try_all(chooser, 1 << 20, {{first.algorithm, 0.25}});
  const AlgorithmChoice why = chooser.why();
  EXPECT_TRUE(why.frozen);
  EXPECT_EQ(why.algorithm, first.algorithm);
  EXPECT_THAT(why.reason, HasSubstr("the fastest of"));
  EXPECT_EQ(why.bytes_min, 1u << 20);
  EXPECT_EQ(why.bytes_max, (2u << 20) - 1);
  EXPECT_EQ(why.candidates.front().measured_us, 250'000);
  EXPECT_GT(why.candidates.front().predicted_us, 0);
}

TEST(Selector, NeverMeasuresWhenPinnedDeterministicOrWithoutFigures) {
  Options pinned, deterministic;
  pinned.algorithm = "tree";
  deterministic.deterministic = true;
  Chooser tree(4, pinned), fixed(4, deterministic), blind(4, {}, cost::Network{});
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{64} << 10, std::size_t{1} << 24}) {
    EXPECT_EQ(tree.choose(bytes).algorithm, "tree");
    EXPECT_EQ(fixed.choose(bytes).algorithm, "direct");
    EXPECT_FALSE(tree.choose(bytes).trial || fixed.choose(bytes).trial ||
                 blind.choose(bytes).trial);
  }
  EXPECT_EQ(blind.choose(16 << 10).algorithm, "recursive_doubling");
  EXPECT_EQ(blind.choose((16 << 10) + 4).algorithm, "direct");
  EXPECT_THAT(tree.why().reason, HasSubstr("pinned by algorithm=tree"));
  EXPECT_THAT(fixed.why().reason, HasSubstr("deterministic"));
}

TEST(Selector, SumsShortFloatsOnlyWhereTheyRoundOnce) {
  Chooser chooser(4);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto names = names_for(chooser, dtype);
    const Choice choice = chooser.choose(1 << 20, dtype);
    EXPECT_NE(std::find(names.begin(), names.end(), choice.algorithm), names.end());
  }
}

TEST(Selector, KeepsWhatIsUsualUnlessAnotherIsClearlyFaster) {
  for (const auto& [advantage, kept] : {std::pair{0.97, true}, std::pair{0.9, false}}) {
    Chooser chooser(4);
    std::map<std::string_view, double> seconds = {{"direct", 1.0}};
    for (const std::string_view name :
         names_for(chooser, DType::f32)) {
      if (name != "direct") seconds[name] = advantage;
    }
    try_all(chooser, 1 << 20, seconds);
    EXPECT_EQ(chooser.choose(1 << 20).algorithm == "direct", kept);
    EXPECT_EQ(chooser.why().reason.starts_with("usual at this size"), kept);
  }
}

TEST(Selector, LearnsNothingFromABucketThatWasCalledOff) {
  Chooser chooser(4);
  const Choice choice = chooser.choose(1 << 20);
  chooser.selector->learn(choice, {.seconds = std::numeric_limits<double>::infinity()});
  EXPECT_EQ(chooser.choose(1 << 20).algorithm, choice.algorithm);
  EXPECT_EQ(chooser.why().candidates.front().runs, 0);
}

TEST(Selector, MembersThatRememberTheSameNeedOneRun) {
  RememberedChoices cache;
  {
    Chooser before(4, {}, measured_network(), &cache);
    try_all(before, 1 << 20, {});
  }
  Chooser again(4, {}, measured_network(), &cache);
  const Choice choice = again.choose(1 << 20);
  ASSERT_TRUE(choice.trial);
  const int known = again.selector->remembered(choice);
  EXPECT_GE(known, 0);
  again.selector->learn(choice, {.seconds = 1, .remembered = known});
  EXPECT_FALSE(again.choose(1 << 20).trial);
  EXPECT_THAT(again.why().reason, HasSubstr("before"));
  // Other members may not, and then all go on trying.
  Chooser mixed(4, {}, measured_network(), &cache);
  mixed.selector->learn(mixed.choose(1 << 20), {.seconds = 1, .remembered = -1});
  EXPECT_TRUE(mixed.choose(1 << 20).trial);
}

constexpr Collective kChosenKinds[] = {Collective::allreduce, Collective::allgather,
                                       Collective::broadcast, Collective::reducescatter,
                                       Collective::alltoall};

TEST(Selector, LearnsWhatAStepTakesBeforeAndDuringTrials) {
  Options options;
  const cost::Network network = measured_network();
  const Members members = Members::of({0, 1, 2, 3}, 0);
  RememberedChoices remembered;
  Explanations explanations;
  Selector selector({.options = &options, .network = &network, .members = &members,
                     .remembered = &remembered, .explanations = &explanations});
  const Choice first = selector.choose({.bytes = 64}, Time{});
  ASSERT_TRUE(first.trial && first.opens);
  EXPECT_TRUE(explanations.all().empty());
  // Four members meet in two steps, here of 50 µs each.
  selector.learn(first, {.seconds = 1, .meeting_s = 100e-6});
  const AlgorithmChoice why = explanations.all().at(0);
  EXPECT_EQ(why.bytes, 64u);
  const Choice second = selector.choose({.bytes = 64}, Time{});
  ASSERT_TRUE(second.trial && !second.opens);
  for (const AlgorithmTrial& trial : why.candidates) {
    EXPECT_EQ(trial.runs, 0) << "the first bucket tried nothing";
    if (trial.algorithm == "recursive_doubling") { EXPECT_NEAR(trial.predicted_us, 100, 1); }
  }
  EXPECT_FALSE(why.others.empty()) << "what is not tried is predicted, too";
}

TEST(Selector, BringsTrialsToOneSize) {
  Chooser chooser(4);
  // Twice the time for twice the bytes is not slower.
  Choice choice = chooser.choose(1 << 20);
  for (int i = 0; choice.trial; ++i) {
    const std::size_t bytes = i % 2 == 0 ? 1 << 20 : (2 << 20) - 8;
    choice = chooser.choose(bytes);
    if (!choice.trial) break;
    const double seconds = cost::predict(Collective::allreduce, choice.algorithm, {.n = 4,
                                         .hosts = 1, .each = 4, .least = 4,
                                         .within = cost::LinkClass::loopback},
                                         bytes, cost::typical_costs());
    chooser.selector->learn(choice, {.seconds = seconds});
  }
  for (const AlgorithmTrial& trial : chooser.why().candidates) {
    EXPECT_NEAR(trial.measured_us, trial.predicted_us, 1e-3) << trial.algorithm;
  }
}

TEST(Selector, KeepsKindsApart) {
  Chooser chooser(16);
  const Choice reduce = chooser.choose(1 << 20), gather = chooser.choose(1 << 20, DType::f32,
                                                                        Collective::allgather);
  ASSERT_TRUE(reduce.trial);
  EXPECT_NE(reduce.of, gather.of);
  chooser.selector->learn(reduce, {.seconds = 1});
  const Choice scatter = chooser.choose(1 << 20, DType::f32, Collective::reducescatter);
  ASSERT_TRUE(scatter.trial) << "halving and ring";
  for (int i = 0; chooser.choose(1 << 20, DType::f32, Collective::reducescatter).trial; ++i) {
    const Choice next = chooser.choose(1 << 20, DType::f32, Collective::reducescatter);
    chooser.selector->learn(next, {.seconds = next.algorithm == "ring" ? 1.0 : 0.5});
    ASSERT_LT(i, 10);
  }
  EXPECT_EQ(chooser.choose(1 << 20, DType::f32, Collective::reducescatter).algorithm, "halving");
  EXPECT_TRUE(chooser.choose(1 << 20).trial);
  EXPECT_EQ(chooser.explanations.all().size(), 3u);
  EXPECT_FALSE(chooser.choose(1 << 20, DType::f32, Collective::alltoall).trial)
      << "the only one without hosts";
}

TEST(Selector, PinsEveryKindThatHasTheName) {
  const auto runs = [](const char* name, Collective kind, int n = 4) {
    Options options;
    options.algorithm = name;
    Chooser chooser(n, options);
    const Choice choice = chooser.choose(1 << 20, DType::f32, kind);
    EXPECT_FALSE(choice.trial);
    return choice.algorithm;
  };
  EXPECT_EQ(runs("ring", Collective::allgather), "ring");
  EXPECT_EQ(runs("ring", Collective::reducescatter), "ring");
  EXPECT_EQ(runs("ring", Collective::broadcast), "tree");
  EXPECT_EQ(runs("halving", Collective::reducescatter), "halving");
  EXPECT_EQ(runs("halving", Collective::allreduce), "direct") << "by fixed lines";
  EXPECT_EQ(runs("pairwise", Collective::alltoall), "pairwise");
  EXPECT_EQ(runs("direct", Collective::reducescatter, 12), "direct");
  Options deterministic;
  deterministic.deterministic = true;
  for (const Collective kind : kChosenKinds) {
    Chooser chooser(12, deterministic);
    EXPECT_FALSE(chooser.choose(1 << 20, DType::f32, kind).trial);
    EXPECT_EQ(chooser.choose(1 << 20, DType::f32, kind).algorithm,
              move::choose_algorithm(kind, kind == Collective::allreduce ? "direct" : "auto",
                                     {.members = &chooser.members}, DType::f32, 1 << 20));
  }
}

TEST(Selector, DecidesByWhatAllMembersSeeAlone) {
  for (int n = 2; n <= 20; ++n) {
    Chooser a(n), b(n);
    for (std::size_t bytes = 4; bytes <= std::size_t{64} << 20; bytes *= 3) {
      const Collective kind = kChosenKinds[(bytes / 4 + static_cast<std::size_t>(n)) % 5];
      for (int i = 0; i < 30; ++i) {
        const Choice x = a.choose(bytes, DType::f32, kind), y = b.choose(bytes, DType::f32, kind);
        ASSERT_EQ(x.algorithm, y.algorithm);
        ASSERT_EQ(x.trial, y.trial);
        if (!x.trial) break;
        const double seconds = static_cast<double>((bytes * 31 + static_cast<std::size_t>(i)) % 17);
        a.selector->learn(x, {.seconds = seconds});
        b.selector->learn(y, {.seconds = seconds});
      }
      EXPECT_FALSE(a.choose(bytes, DType::f32, kind).trial);
    }
  }
}

TEST(Selector, PredictsWhatAnEmulatedNetworkAdds) {
  Options slower;
  ASSERT_TRUE(slower.set("emulate", "alpha=1ms,beta=10ns").ok());
  const Chooser plain(4), emulated(4, slower);
  EXPECT_NEAR(emulated.selector->predict({.bytes = 100'000}).seconds -
                  plain.selector->predict({.bytes = 100'000}).seconds,
              2e-3, 1e-12);
}

}  // namespace
}  // namespace unisono::run
