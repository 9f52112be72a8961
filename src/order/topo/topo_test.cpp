// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/topo.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order/topo/testing/steps.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TopoNet::Make topo(OrderSettings settings, TopoPolicy policy = {}) {
  return [=](Members members) {
    return make_topo(std::move(members), settings, policy, make_coordinator);
  };
}

OrderSettings quick() {
  OrderSettings settings;
  settings.learn_steps = 2;
  settings.tree_radix = 2;
  return settings;
}

void run_steps(TopoNet& net, const TopoStep& step, int count) {
  for (int i = 0; i < count; ++i) net.add_step_all(step);
  ASSERT_TRUE(net.run()) << net.trouble();
}

// Steps until every response is planned again.
int steps_until_planned(TopoNet& net, const TopoStep& step) {
  for (int steps = 1; steps < 200; ++steps) {
    const std::size_t before = net.planned(0), ran = net.log(0).size();
    run_steps(net, step, 1);
    if (net.planned(0) > before && net.planned(0) - before == net.log(0).size() - ran) return steps;
  }
  return -1;
}

TEST(Topo, SendsNothingOnceLearned) {
  TopoNet net(5, 1, topo(quick()));
  const TopoStep step = step_of({"a", "b", "c", "d", "e", "f"});
  run_steps(net, step, 8);
  ASSERT_GT(net.planned(0), 0u);
  const std::size_t messages = net.messages();
  run_steps(net, step, 50);
  EXPECT_EQ(net.messages(), messages);
  for (int i = 0; i < net.size(); ++i) EXPECT_EQ(net.planned(i), net.planned(0));
}

TEST(Topo, LearnsAlthoughSubmissionOrdersAreRandom) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TopoNet net(3, seed, topo(quick()));
    run_steps(net, step_of({"a", "b", "c", "d"}), 12);
    EXPECT_GT(net.planned(0), 0u) << "seed " << seed;
  }
}

TEST(Topo, FollowsADependencyOfOneMember) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    TopoNet net(3, seed, topo(quick()));
    for (int i = 0; i < 3; ++i) {
      TopoStep step = step_of({"a", "b", "c"});
      if (i == 1) step[1].after = {"a"};
      for (int s = 0; s < 12; ++s) net.add_step(i, step);
    }
    ASSERT_TRUE(net.run()) << "seed " << seed << ": " << net.trouble();
    EXPECT_GT(net.planned(0), 0u);
    EXPECT_LT(net.now().ns, 1'000'000'000) << "seed " << seed << ": somebody lost patience";
    for (const std::string& line : net.log(0)) {
      const bool both = line.find('a') != std::string::npos && line.find('b') != std::string::npos;
      EXPECT_FALSE(both) << line;
    }
  }
}

TEST(Topo, HiddenCommunicationMakesNoFalseDependencies) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TopoNet net(3, seed, topo(quick()));
    net.hide_communication();
    const TopoStep step = step_of({"a", "b", "c", "d"});
    run_steps(net, step, 12);
    ASSERT_GT(net.planned(0), 0u) << "seed " << seed;
    EXPECT_EQ(std::count(net.log(0).back().begin(), net.log(0).back().end(), ' '), 4)
        << "seed " << seed << ": " << net.log(0).back() << " is not the whole step";
  }
}

// Hidden communication and a dependency: only what the program waits for divides the step.
TEST(Topo, OnlyWhatIsWaitedForDividesAStep) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TopoNet net(3, seed, topo(quick()));
    net.hide_communication();
    TopoStep step = step_of({"a", "b", "c", "d"});
    step[2].after = step[3].after = {"a", "b"};
    run_steps(net, step, 12);
    ASSERT_GT(net.planned(0), 1u) << "seed " << seed;
    EXPECT_THAT(net.log(0).back(), testing::EndsWith("c d")) << "seed " << seed;
  }
}

TEST(Topo, FollowsADependencyWhoseEndIsToldLate) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    TopoNet net(3, seed, topo(quick()), 2 + seed % 3);
    for (int i = 0; i < 3; ++i) {
      TopoStep step = step_of({"a", "b", "c", "d"});
      if (i == 1) step[1].after = {"a"};
      if (i == 2) step[3].after = {"b"};
      for (int s = 0; s < 12; ++s) net.add_step(i, step);
    }
    ASSERT_TRUE(net.run()) << "seed " << seed << ": " << net.trouble();
    EXPECT_GT(net.planned(0), 0u);
    EXPECT_LT(net.now().ns, 1'000'000'000) << "seed " << seed << ": somebody lost patience";
  }
}

TEST(Topo, KeepsGroupsWholeInABucketOfTheirOwn) {
  TopoNet net(3, 5, topo(quick()));
  TopoStep step = step_of({"a", "z"});
  for (const Request& request : group_request("g", {"m", "n", "o"})) step.push_back({request, {}});
  run_steps(net, step, 8);
  EXPECT_GT(net.planned(0), 0u);
  for (const std::string& line : net.log(0)) {
    if (line.find('m') == std::string::npos) continue;
    EXPECT_THAT(line, HasSubstr("m"));
    EXPECT_THAT(line, HasSubstr("n"));
    EXPECT_THAT(line, HasSubstr("o"));
    EXPECT_THAT(line, testing::Not(HasSubstr("z")));
  }
}

TEST(Topo, StartsNewBucketWhenBytesExceedLimit) {
  TopoPolicy policy;
  policy.bucket_bytes_max = 32;
  TopoNet net(2, 5, topo(quick(), policy));
  run_steps(net, step_of({"a", "b", "c", "d", "e"}), 8);
  for (const std::string& line : net.log(0)) {
    EXPECT_LE(std::count(line.begin(), line.end(), ' '), 2) << line;
  }
}

TEST(Topo, TakesTheNextIterationWhileThisOneIsOpen) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TopoPolicy policy;
    policy.bucket_bytes_max = 16;       // one tensor in a bucket
    TopoNet net(3, seed, topo(quick(), policy));
    const TopoStep step = step_of({"a", "b", "c"});
    run_steps(net, step, 8);
    ASSERT_GT(net.planned(0), 0u);
    const std::size_t messages = net.messages();
    net.pipeline();
    run_steps(net, step, 10);
    EXPECT_EQ(net.messages(), messages) << "seed " << seed;
  }
}

struct Change {
  const char* name;
  std::function<void(std::vector<TopoStep>&)> apply;  // to the steps of one iteration, by member
};

const Change kChanges[] = {
    {"a tensor more on all", [](auto& steps) {
       for (TopoStep& step : steps) step.push_back({tensor_request("x"), {}});
     }},
    {"a tensor less on all", [](auto& steps) {
       for (TopoStep& step : steps) step.pop_back();
     }},
    {"another shape on all", [](auto& steps) {
       for (TopoStep& step : steps) step[1].request.shape = {8};
     }},
    {"another shape on one", [](auto& steps) { steps[1][1].request.shape = {8}; }},
    {"a tensor less on one", [](auto& steps) { steps[2].pop_back(); }},
    {"a tensor more on one", [](auto& steps) { steps[0].push_back({tensor_request("x"), {}}); }},
    {"a barrier", [](auto& steps) {
       for (TopoStep& step : steps) step.push_back({kind_request("bar", Collective::barrier), {}});
     }},
    {"all join", [](auto& steps) {
       for (TopoStep& step : steps) step.push_back({kind_request("join", Collective::join), {}});
     }},
    {"one has no data and joins early", [](auto& steps) {
       steps[1].clear();
       for (TopoStep& step : steps) step.push_back({kind_request("join", Collective::join), {}});
     }},
    {"a group instead of tensors", [](auto& steps) {
       for (TopoStep& step : steps) {
         for (const Request& request : group_request("g", {"a", "b"})) {
           for (TopoOp& op : step) {
             if (op.request.name == request.name) op.request = request;
           }
         }
       }
     }},
};

TEST(Topo, LearnsAgainAfterEachKindOfChange) {
  for (const Change& change : kChanges) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(cat(change.name, ", seed ", seed));
      OrderSettings settings = quick();
      settings.stall_limit = Nanos(2'000'000'000);
      TopoNet net(3, seed, topo(settings));
      const TopoStep step = step_of({"a", "b", "c"});
      ASSERT_GT(steps_until_planned(net, step), 0);
      std::vector<TopoStep> changed(3, step);
      change.apply(changed);
      for (int i = 0; i < 3; ++i) net.add_step(i, changed[static_cast<std::size_t>(i)]);
      ASSERT_TRUE(net.run()) << net.trouble();
      // What one member submitted less or more now stays one behind or fails; both settle.
      EXPECT_GT(steps_until_planned(net, step), 0);
      EXPECT_LT(net.now().ns, 20'000'000'000);
    }
  }
}

TEST(Topo, NamesWhoIsMissingAfterPatience) {
  OrderSettings settings = quick();
  settings.stall_limit = Nanos(3'000'000'000);
  TopoNet net(3, 9, topo(settings));
  const TopoStep step = step_of({"a", "b", "c"});
  run_steps(net, step, 8);
  ASSERT_GT(net.planned(0), 0u);
  net.add_step(0, step);
  net.add_step(2, step);                // member 1, rank 12, does nothing
  ASSERT_TRUE(net.run()) << net.trouble();
  const Status& status = net.results(0).at("a").back();
  EXPECT_EQ(status.code(), Code::stalled);
  EXPECT_THAT(status.message(), HasSubstr("12"));
}

// A bucket of a slow network may be on its way for longer than the patience of the settings. Where
// iterations have always been long, that is no reason to end a plan.
TEST(Topo, IsPatientWhereIterationsAreLong) {
  OrderSettings settings = quick();
  const Nanos step = 2 * settings.topo_patience;
  const auto order = make_topo(Members::of({0}, 0), settings);
  Time now{1};
  std::uint64_t ended = 0;
  const auto iterate = [&] {
    std::vector<Response> responses;
    const auto negotiate = [&] {
      OrderOutput out;
      order->negotiate(now, out);
      for (Response& response : out.responses) responses.push_back(std::move(response));
    };
    for (const char* name : {"a", "b"}) order->submit(tensor_request(name), now);
    for (int i = 0; i < 4; ++i) negotiate();
    now = now + step * 3 / 4;
    negotiate();
    EXPECT_LE(responses.size(), 2u);
    for (const Response& response : responses) {
      EXPECT_EQ(response.vote, PlanVote::run);
      order->ended(response.sequence, PlanVote::run, now);
      ++ended;
    }
    now = now + step / 4;
    return !responses.empty() && responses.front().planned;
  };
  int planned = 0;
  for (int i = 0; i < 12; ++i) planned += iterate() ? 1 : 0;
  EXPECT_GE(planned, 6);
  EXPECT_EQ(order->state().plans_ended, 0u) << order->state().reason;
}

TEST(Topo, FailsWhatAMemberThatLeftWouldHaveRun) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    TopoNet net(3, seed, topo(quick()));
    const TopoStep step = step_of({"a", "b", "c"});
    run_steps(net, step, 8);
    net.leave_at_end(static_cast<int>(seed % 3));
    for (int i = 0; i < 3; ++i) {
      if (i != static_cast<int>(seed % 3)) net.add_step(i, step);
    }
    ASSERT_TRUE(net.run()) << "seed " << seed << ": " << net.trouble();
    const int other = seed % 3 == 0 ? 1 : 0;
    for (const auto& [name, results] : net.results(other)) {
      EXPECT_EQ(results.back().code(), Code::peer_left);
      EXPECT_EQ(results.back().culprit().rank, TopoNet::rank(static_cast<int>(seed % 3)));
    }
  }
}

TEST(Topo, FollowsAGivenGraphFromTheFirstStep) {
  auto graph = std::make_shared<TopoGraph>();
  for (const char* name : {"a", "b", "c", "d"}) graph->units.push_back({tensor_request(name)});
  graph->edges = {{0, 2}, {1, 3}};
  TopoPolicy policy;
  policy.given = graph;
  TopoNet net(4, 3, topo(quick(), policy));
  ASSERT_TRUE(net.run()) << net.trouble();
  run_steps(net, step_of({"a", "b", "c", "d"}), 3);
  EXPECT_THAT(net.log(0).front(), HasSubstr("0p a b"));
  EXPECT_EQ(net.planned(0), net.log(0).size());
}

TEST(Topo, RefusesAGraphWithACycle) {
  TopoGraph graph;
  for (const char* name : {"a", "b"}) graph.units.push_back({tensor_request(name)});
  graph.edges = {{0, 1}, {1, 0}};
  EXPECT_EQ(arrange(graph, 1 << 20), nullptr);
  graph.edges = {{0, 7}};
  EXPECT_EQ(arrange(graph, 1 << 20), nullptr);
  graph.edges = {{0, 1}};
  graph.units[1] = {kind_request("b", Collective::barrier)};
  EXPECT_EQ(arrange(graph, 1 << 20), nullptr);
}

TEST(Topo, NeverPlansWhatHasABarrierInEveryStep) {
  TopoNet net(3, 4, topo(quick()));
  TopoStep step = step_of({"a", "b"});
  step.push_back({kind_request("bar", Collective::barrier), {"a", "b"}});
  run_steps(net, step, 30);
  EXPECT_EQ(net.planned(0), 0u);
}

TEST(Topo, WaitsLongerAfterEachTimeThePlanBrokeEarly) {
  TopoNet net(2, 4, topo(quick()));
  const TopoStep step = step_of({"a", "b"});
  ASSERT_GT(steps_until_planned(net, step), 0);
  int last = 0;
  for (int round = 0; round < 3; ++round) {
    TopoStep more = step;
    more.push_back({tensor_request(cat("x", round)), {}});
    run_steps(net, more, 1);
    const int steps = steps_until_planned(net, step);
    ASSERT_GT(steps, last);
    last = steps;
  }
}

TEST(Topo, GivesUpWhatIsNotAnsweredWhilePlanned) {
  auto graph = std::make_shared<TopoGraph>();
  for (const char* name : {"a", "b", "c"}) graph->units.push_back({tensor_request(name)});
  TopoPolicy policy;
  policy.given = graph;
  TopoNet net(1, 3, topo(quick(), policy));
  ASSERT_TRUE(net.run()) << net.trouble();
  for (const char* name : {"c", "x", "a"}) net.order(0).submit(tensor_request(name), net.now());
  EXPECT_EQ(net.order(0).waiting(), 3u);
  std::vector<std::string> names;
  for (const Request& request : net.order(0).release()) names.push_back(request.name);
  EXPECT_THAT(names, testing::ElementsAre("c", "x", "a"));
}

}  // namespace
}  // namespace unisono::order
