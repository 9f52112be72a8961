// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Iterations that take turns: each gets a plan, and once all have one nobody is asked any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order/testing/virtual_net.hpp"
#include "order/topo/testing/any_arranger.hpp"
#include "order/topo/testing/steps.hpp"
#include "order/topo/topo.hpp"

namespace unisono::order {
namespace {

using testing::HasSubstr;

TopoNet::Make alternating(TopoPolicy policy = {}) {
  OrderSettings settings;
  settings.learn_steps = 2;
  settings.tree_radix = 2;
  settings.stall_limit = Nanos(5'000'000'000);
  return [=](Members members) {
    return make_topo(std::move(members), settings, policy, make_coordinator);
  };
}

// Buckets of one tensor each, if there are channels to divide them among.
TopoPolicy with_channels(std::size_t channels) {
  TopoPolicy policy;
  policy.channels = static_cast<std::uint32_t>(channels);
  if (channels > 1) policy.bucket_bytes_max = 16;
  return policy;
}

const TopoStep kDiscriminator = step_of({"d0", "d1", "d2"});
const TopoStep kGenerator = step_of({"g0", "g1"});
const TopoStep kEvaluation = step_of({"e0"});

void cycle(TopoNet& net, const std::vector<TopoStep>& steps, int times = 1) {
  for (int i = 0; i < times; ++i) {
    for (const TopoStep& step : steps) net.add_step_all(step);
  }
  ASSERT_TRUE(net.run()) << net.trouble();
}

// Whether a cycle went without a message, and all of it was planned.
bool silent(TopoNet& net, const std::vector<TopoStep>& steps, int times) {
  const std::size_t messages = net.messages(), planned = net.planned(0), ran = net.log(0).size();
  cycle(net, steps, times);
  return net.messages() == messages && net.planned(0) - planned == net.log(0).size() - ran;
}

std::vector<std::string> known(TopoNet& net) {
  std::vector<std::string> names;
  for (const KnownPlan& plan : net.order(0).state().known) names.push_back(plan.first);
  std::sort(names.begin(), names.end());
  return names;
}

TEST(TopoAlternating, TwoOptimizersThatTakeUnequalTurnsBothGetAPlan) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::size_t teams = 1 + seed % 3;
    TopoNet net(3, seed, alternating(with_channels(teams)), teams);
    const std::vector<TopoStep> steps = {kDiscriminator, kDiscriminator, kGenerator};
    cycle(net, steps, 20);
    EXPECT_TRUE(silent(net, steps, 10)) << "seed " << seed << ": " << net.order(0).state().reason;
    EXPECT_EQ(known(net).size(), 2u) << "seed " << seed;
    EXPECT_LT(net.now().ns, 1'000'000'000) << "seed " << seed << ": somebody lost patience";
  }
}

TEST(TopoAlternating, TrainingAndEvaluationInAnyProportionSendNothing) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::size_t teams = 1 + seed % 3;
    TopoNet net(4, seed, alternating(with_channels(teams)), teams);
    for (int epoch = 0; epoch < 8; ++epoch) {
      cycle(net, {kDiscriminator, kGenerator}, 5);
      cycle(net, {kEvaluation}, 1 + epoch % 3);
    }
    EXPECT_TRUE(silent(net, {kDiscriminator, kGenerator, kEvaluation, kEvaluation}, 1));
    EXPECT_TRUE(silent(net, {kEvaluation, kDiscriminator, kGenerator, kEvaluation}, 3));
  }
}

TEST(TopoAlternating, AnUnknownIterationIsLearnedBesideTheOthers) {
  TopoNet net(3, 7, alternating());
  const std::vector<TopoStep> both = {kDiscriminator, kDiscriminator, kGenerator};
  cycle(net, both, 20);
  ASSERT_TRUE(silent(net, both, 1));
  cycle(net, {step_of({"x"})});
  EXPECT_EQ(known(net).size(), 2u);
  EXPECT_FALSE(net.order(0).state().planned);
  std::string reasons;
  for (int i = 0; i < 3; ++i) reasons += net.order(i).state().reason;
  EXPECT_THAT(reasons, HasSubstr("'x' is not in it"));
  cycle(net, both);
  EXPECT_TRUE(silent(net, both, 2)) << net.order(0).state().reason;
  cycle(net, {step_of({"x"}), step_of({"x"}), step_of({"x"})});
  cycle(net, both, 2);
  EXPECT_TRUE(silent(net, {step_of({"x"}), kGenerator, step_of({"x"})}, 2));
  EXPECT_EQ(known(net).size(), 3u);
}

TEST(TopoAlternating, TheOneThatDidNotRunForLongestMakesRoom) {
  TopoPolicy policy;
  policy.plans_max = 2;
  TopoNet net(3, 3, alternating(policy));
  cycle(net, {kDiscriminator}, 8);
  cycle(net, {kGenerator}, 8);
  cycle(net, {kDiscriminator}, 4);
  cycle(net, {kEvaluation}, 8);
  EXPECT_TRUE(silent(net, {kDiscriminator, kEvaluation}, 3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(net.order(i).state().known.size(), 2u);
    EXPECT_EQ(net.order(i).state().known.front().tensors, 3u);
  }
}

// One step is the beginning of the other: what they share becomes one plan and the rest another.
TEST(TopoAlternating, IterationsThatBeginAlikeSharePlans) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TopoNet net(3, seed, alternating());
    const std::vector<TopoStep> steps = {step_of({"a", "b"}), step_of({"a", "b"}),
                                         step_of({"a", "b"}), step_of({"c", "d"})};
    cycle(net, steps, 30);
    EXPECT_TRUE(silent(net, steps, 3)) << "seed " << seed << ": " << net.order(0).state().reason;
    EXPECT_EQ(known(net).size(), 2u) << "seed " << seed;
  }
}

// Nobody waits, and members do not submit in the same order: they may choose different plans, which
// is noticed before anything moves, in whichever channels those plans begin.
TEST(TopoAlternating, MembersThatBeginDifferentPlansFallBackTogether) {
  std::size_t fell_back = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::size_t teams = 1 + seed % 3;
    TopoNet net(3, seed, alternating(with_channels(teams)), teams);
    TopoStep discriminator = kDiscriminator;
    if (teams > 1) {
      for (TopoOp& op : discriminator) op.request.team = 2;
    }
    cycle(net, {discriminator, discriminator, kGenerator}, 20);
    ASSERT_TRUE(net.order(0).state().planned);
    const std::uint64_t before = net.order(0).state().plans_ended;
    TopoStep mixed = discriminator;
    mixed.insert(mixed.end(), kGenerator.begin(), kGenerator.end());
    cycle(net, {mixed}, 4);
    fell_back += net.order(0).state().plans_ended > before ? 1 : 0;
    for (int i = 1; i < 3; ++i) {
      EXPECT_EQ(net.order(i).state().plans_ended, net.order(0).state().plans_ended);
    }
    EXPECT_LT(net.now().ns, 5'000'000'000);
  }
  EXPECT_GT(fell_back, 30u);
}

TEST(TopoAlternating, OnePlanIsMadeAnewWhileTheOtherIsKept) {
  TopoPolicy policy;
  policy.arranger = std::make_shared<AnyArranger>(5);
  policy.drift = {.watched = 2, .in_a_row = 1, .worth_it = 1, .iterations_min = 8};
  for (std::uint32_t teams = 1; teams <= 3; ++teams) {
    policy.channels = teams;
    TopoNet net(3, 3, alternating(policy), teams);
    const std::vector<TopoStep> steps = {kDiscriminator, kDiscriminator, kGenerator};
    cycle(net, steps, 60);
    for (int i = 0; i < 3; ++i) {
      EXPECT_GE(net.order(i).state().plans_ended, 2u);
      EXPECT_LE(net.order(i).state().known.size(), 2u);
    }
    EXPECT_LT(net.now().ns, 1'000'000'000) << "somebody lost patience";
  }
}

Request of_kind(const std::string& name, Collective kind, Shape shape = {4}) {
  Request request = tensor_request(name, std::move(shape));
  request.kind = kind;
  if (kind == Collective::broadcast) request.root = TopoNet::rank(1);
  return request;
}

TEST(TopoKinds, BroadcastsGathersAndScattersArePlannedBesideSums) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TopoNet net(3, seed, alternating());
    const auto steps = [&](std::int64_t rows_of_last, int times) {
      for (int s = 0; s < times; ++s) {
        for (int i = 0; i < 3; ++i) {
          net.add_step(i, {{of_kind("s", Collective::allreduce), {}},
                           {of_kind("b", Collective::broadcast), {}},
                           {of_kind("r", Collective::reducescatter), {"b"}},
                           {of_kind("g", Collective::allgather,
                                    {i == 2 ? rows_of_last : i + 1, 2}), {"s"}}});
        }
      }
      ASSERT_TRUE(net.run()) << net.trouble();
    };
    steps(7, 8);
    const std::size_t messages = net.messages();
    steps(7, 4);
    EXPECT_EQ(net.messages(), messages) << "seed " << seed;
    EXPECT_EQ(net.order(1).state().known.size(), 1u);
    steps(8, 1);                            // other rows are another operation
    EXPECT_GT(net.messages(), messages);
    steps(8, 12);
    const std::size_t again = net.messages();
    steps(8, 4);
    EXPECT_EQ(net.messages(), again) << "seed " << seed << ": " << net.order(0).state().reason;
    EXPECT_LT(net.now().ns, 3'000'000'000);
  }
}

TEST(TopoKinds, RowsThatAlwaysChangeAreNeverPlanned) {
  TopoNet net(2, 1, alternating());
  for (std::int64_t i = 0; i < 12; ++i) {
    net.add_step_all({{of_kind("g", Collective::allgather, {i, 2}), {}}});
  }
  ASSERT_TRUE(net.run()) << net.trouble();
  EXPECT_EQ(net.planned(0), 0u);
  EXPECT_THAT(net.order(0).state().reason, HasSubstr("'g' is not what it was"));
  EXPECT_THAT(net.order(0).state().reason, HasSubstr("other rows"));
}

TEST(TopoAlternating, AChangedTensorBreaksItsPlanAlone) {
  TopoNet net(3, 3, alternating());
  const std::vector<TopoStep> steps = {kDiscriminator, kDiscriminator, kGenerator};
  cycle(net, steps, 20);
  TopoStep changed = kGenerator;
  for (TopoOp& op : changed) op.request.shape = {8};
  cycle(net, {kDiscriminator, kDiscriminator, changed});
  ASSERT_EQ(known(net).size(), 1u);
  EXPECT_EQ(known(net).front().front(), 'd');
  cycle(net, {kDiscriminator, kDiscriminator, changed}, 10);
  EXPECT_TRUE(silent(net, {kDiscriminator, changed}, 3));
}

// Its names are free again once a group is done, so a program may reduce one of them by itself in the
// same step. No iteration with a name in it twice can be planned.
TEST(TopoAlternating, ATensorThatComesInAGroupAndByItselfIsNotPlannedTwice) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::size_t teams = 1 + seed % 3;
    TopoNet net(3, seed, alternating(with_channels(teams)), teams);
    TopoStep group;
    for (Request& request : group_request("both", {"a", "b"})) group.push_back({request, {}});
    cycle(net, {group, step_of({"b"})}, 20);
  }
}

}  // namespace
}  // namespace unisono::order
