// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Seeded schedules: what is submitted, when anything happens and what goes wrong is drawn from the
// seed. Nothing may be lost, answered twice, run in different orders, or hang.
// UNISONO_SEEDS=n runs n seeds of each kind, from UNISONO_SEEDS_FROM on; a failing seed is printed,
// and kept below.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <optional>

#include "base/testing/effort.hpp"
#include "order/switch/switchable.hpp"
#include "order/topo/topo.hpp"
#include "order/topo/testing/any_arranger.hpp"
#include "order/topo/testing/net.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {
namespace {

enum class Fault { none, tensors, shape, members, switches };

std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::uint64_t seeds() {
  if (const auto count = number_from("UNISONO_SEEDS")) return *count;
  if (short_of_time()) return 100;
  return has_time() ? 20'000 : 5'000;
}

class Schedule {
 public:
  // Where it is mixed, other kinds than allreduces and steps that take turns come in addition.
  Schedule(Fault fault, std::uint64_t seed, std::size_t teams = 1, bool mixed = true)
      : fault_(fault), mix_(seed * 40503u + 3), mixed_(mixed), rng_(seed * 2654435761u + 17),
        members_(2 + static_cast<int>(rng_.below(3))), tensors_(3 + rng_.below(4)),
        kinds_(mixed && mix_.below(3) == 0), teams_(teams),
        net_(members_, seed, maker(teams), teams) {}

  // Empty when all went well.
  std::string run() {
    TopoStep step = step_of_tensors();
    std::vector<TopoStep> own(static_cast<std::size_t>(members_), step);
    // On one member a tensor may wait for another.
    if (rng_.below(2) == 0) {
      TopoStep& mine = own[rng_.below(own.size())];
      const std::size_t b = 1 + rng_.below(mine.size() - 1);
      if (mine[b].request.group.empty()) mine[b].after = {mine[rng_.below(b)].request.name};
      if (!step[b].request.group.empty()) mine[b].after.clear();
    }
    // In half of them a second kind of step takes turns with the first, as chance has it.
    const bool alternate = mixed_ && mix_.below(2) == 0;
    const TopoStep other = {{kind_of("u0"), {}}, {kind_of("u1"), {}}};
    const int iterations = (alternate ? 8 : 4) + static_cast<int>(rng_.below(3));
    const int odd = 1 + static_cast<int>(rng_.below(static_cast<std::uint64_t>(iterations) - 1));
    if (rng_.below(3) == 0) net_.pipeline();
    if (rng_.below(3) == 0) net_.slow_link(pick(), pick());
    for (int i = 0; i < iterations; ++i) {
      std::vector<TopoStep> steps = own;
      if (alternate && i != odd && mix_.below(2) == 0) steps.assign(own.size(), other);
      if (i == odd) break_steps(steps);
      for (int m = 0; m < members_; ++m) net_.add_step(m, steps[static_cast<std::size_t>(m)]);
    }
    if (leaver_ >= 0) {
      net_.leave_at_end(leaver_);
      for (int m = 0; m < members_; ++m) {
        if (m != leaver_) net_.add_step(m, own[static_cast<std::size_t>(m)]);
      }
    }
    if (!net_.run()) return net_.trouble();
    return check_results();
  }

  std::size_t planned() const { return net_.planned(0); }
  std::size_t choices() const { return net_.choices(); }

 private:
  int pick() { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(members_))); }

  TopoNet::Make maker(std::size_t teams) {
    OrderSettings settings;
    settings.learn_steps = 1 + static_cast<int>(rng_.below(2));
    settings.tree_radix = 2;
    settings.stall_limit = Nanos(5'000'000'000);
    TopoPolicy policy;
    policy.channels = static_cast<std::uint32_t>(teams);
    policy.fuse_groups = rng_.below(2) == 0;
    policy.bucket_bytes_max = std::size_t{16} << (4 * rng_.below(2));
    if (rng_.below(4) == 0) policy.given = given();
    if (rng_.below(2) == 0) {
      policy.arranger = std::make_shared<AnyArranger>(rng_(), policy.channels);
      policy.drift = {.watched = 1, .in_a_row = 1, .worth_it = 1, .iterations_min = 0};
    }
    static constexpr const char* kStrategies[] = {"coordinator", "tree", "cache", "topo"};
    const std::string first = fault_ == Fault::switches ? kStrategies[rng_.below(4)] : "topo";
    const OrderFactory inner = rng_.below(2) == 0 ? make_coordinator : make_cache;
    const StrategyFactory make = [=](std::string_view name, Members members,
                                     OrderSettings now) -> std::unique_ptr<Order> {
      if (name == "coordinator") return make_coordinator(std::move(members), now);
      if (name == "tree") return make_tree(std::move(members), now);
      if (name == "cache") return make_cache(std::move(members), now);
      if (name == "topo") return make_topo(std::move(members), now, policy, inner);
      return nullptr;
    };
    return [=](Members members) {
      return make_switchable(first, std::move(members), settings, make);
    };
  }

  std::shared_ptr<const TopoGraph> given() const {
    auto graph = std::make_shared<TopoGraph>();
    for (std::uint64_t t = 0; t < tensors_; ++t) {
      Request request = tensor_request(cat("t", t));
      request.plan_codecs = codecs_for(request.name);
      graph->units.push_back({request});
      // Wide enough for any dependency the schedule may draw.
      for (std::size_t a = 0; a < t; ++a) graph->edges.emplace_back(a, t);
    }
    return graph;
  }

  TopoStep step_of_tensors() {
    TopoStep step;
    for (std::uint64_t t = 0; t < tensors_; ++t) step.push_back({kind_of(cat("t", t)), {}});
    if (rng_.below(3) == 0) {
      for (std::size_t t = step.size() - 2; t < step.size(); ++t) {
        step[t].request = tensor_request(step[t].request.name);
        step[t].request.group = "g";
        step[t].request.group_size = 2;
      }
    }
    return step;
  }

  // Some may be encoded as their plan likes. By name, so that a graph that is given says the same.
  std::string codecs_for(const std::string& name) const {
    if (!mixed_ || name.back() % 2 == 1) return {};
    return name.back() % 4 == 0 ? "fp16" : "fp16,bf16";
  }

  // In a third of the schedules any kind that can be planned.
  Request kind_of(const std::string& name) {
    static constexpr Collective kKinds[] = {Collective::allreduce, Collective::broadcast,
                                            Collective::allgather, Collective::reducescatter};
    Request request = tensor_request(name);
    if (kinds_) request.kind = kKinds[mix_.below(4)];
    // Some name the team that moves them.
    if (mixed_ && teams_ > 1 && mix_.below(3) == 0) {
      request.team = 1 + static_cast<std::uint32_t>(mix_.below(teams_));
    }
    if (request.kind == Collective::allreduce) request.plan_codecs = codecs_for(name);
    if (request.kind == Collective::broadcast) request.root = TopoNet::rank(0);
    return request;
  }

  void break_steps(std::vector<TopoStep>& steps) {
    TopoStep& one = steps[rng_.below(steps.size())];
    switch (fault_) {
      case Fault::none: break;
      case Fault::tensors: change_tensors(steps, one); break;
      case Fault::shape: {
        const std::size_t t = rng_.below(tensors_);
        if (rng_.below(2) == 0) {
          one[t].request.shape = {5};
        } else {
          for (TopoStep& step : steps) step[t].request.shape = {5};
        }
        break;
      }
      case Fault::members: change_members(steps, one); break;
      case Fault::switches: {
        static constexpr const char* kNext[] = {"coordinator", "tree", "cache", "topo", "nonsense"};
        const std::string name = cat(kSwitchPrefix, kNext[rng_.below(5)]);
        for (TopoStep& step : steps) {
          step.push_back({kind_request(name, Collective::switch_order), {}});
        }
        break;
      }
    }
  }

  void change_tensors(std::vector<TopoStep>& steps, TopoStep& one) {
    // A group with a tensor less would never be whole; that is another mistake.
    const bool grouped = !one.back().request.group.empty();
    switch (rng_.below(grouped ? 3 : 5)) {
      case 0: one.push_back({tensor_request("x"), {}}); break;
      case 1:
        for (TopoStep& step : steps) step.push_back({tensor_request("x"), {}});
        break;
      case 2:
        for (TopoStep& step : steps) {
          step.push_back({kind_request("bar", Collective::barrier), {"t0"}});
        }
        break;
      case 3: one.pop_back(); break;
      default:
        for (TopoStep& step : steps) step.pop_back();
    }
  }

  void change_members(std::vector<TopoStep>& steps, TopoStep& one) {
    const auto kind = rng_.below(3);
    if (kind == 0) {
      leaver_ = pick();
      return;
    }
    if (kind == 1) one.clear();
    for (TopoStep& step : steps) {
      TopoOp join{kind_request("join", Collective::join), {}};
      for (const TopoOp& op : step) join.after.push_back(op.request.name);
      step.push_back(std::move(join));
    }
  }

  std::string check_results() const {
    for (int m = 0; m < members_; ++m) {
      for (const auto& [name, results] : net_.results(m)) {
        for (const Status& status : results) {
          const Code code = status.code();
          const bool meant = code == Code::ok ||
                             (fault_ == Fault::members && code == Code::peer_left) ||
                             (fault_ == Fault::members && code == Code::mismatch) ||
                             (fault_ == Fault::switches && code == Code::invalid_argument) ||
                             (fault_ == Fault::shape && code == Code::mismatch) ||
                             (fault_ == Fault::tensors && code == Code::stalled);
          if (!meant) return cat("member ", m, " ", name, ": ", status.to_string());
        }
      }
    }
    return {};
  }

  const Fault fault_;
  Rng mix_;                             // apart, so that the rest stays what it was for a seed
  const bool mixed_;
  Rng rng_;
  const int members_;
  const std::uint64_t tensors_;
  const bool kinds_;                    // not allreduces alone
  const std::size_t teams_;
  TopoNet net_;
  int leaver_ = -1;
};

// With teams the seed chooses how many, from 2 to 4.
void run_seeds(Fault fault, std::uint64_t count, bool with_teams = false) {
  const std::uint64_t from = number_from("UNISONO_SEEDS_FROM").value_or(0);
  std::size_t planned = 0, chosen = 0;
  for (std::uint64_t seed = from; seed < from + count; ++seed) {
    const std::size_t teams = with_teams ? 2 + seed % 3 : 1;
    Schedule schedule(fault, seed, teams);
    const std::string trouble = schedule.run();
    ASSERT_EQ(trouble, "") << "seed " << seed << " of kind " << static_cast<int>(fault) << ", "
                           << teams << " teams";
    planned += schedule.planned() > 0 ? 1 : 0;
    chosen += schedule.choices() > 0 ? 1 : 0;
  }
  std::cout << "[ seeds ] " << count << ", with a plan " << planned << ", with a choice of plans "
            << chosen << "\n";
  // Few seeds say little about the share, but one that never plans tests nothing.
  EXPECT_GT(planned, count < 100 ? 0 : count / 10);
}

// Schedules that found something once.
struct Kept {
  Fault fault;
  std::uint64_t seed;
  bool mixed = false;
  std::size_t teams = 1;
};
constexpr Kept kKept[] = {
    {Fault::tensors, 17},    // a failure met a request submitted after it was decided
    {Fault::tensors, 82},    // the same, with the round already received
    {Fault::members, 1},     // join after a pipelined step
    {Fault::members, 2610},  // the first member leaves while one member begins the plan
    {Fault::tensors, 11218, true},  // a group failed on one member and was under way on the other
};

TEST(TopoFault, KeptSeeds) {
  for (const auto& [fault, seed, mixed, teams] : kKept) {
    EXPECT_EQ(Schedule(fault, seed, teams, mixed).run(), "") << "seed " << seed;
  }
}

TEST(TopoFault, NothingGoesWrong) { run_seeds(Fault::none, seeds()); }
TEST(TopoFault, TensorsMoreOrLess) { run_seeds(Fault::tensors, seeds()); }
TEST(TopoFault, ShapesChange) { run_seeds(Fault::shape, seeds()); }
TEST(TopoFault, MembersJoinOrLeave) { run_seeds(Fault::members, seeds()); }
TEST(TopoFault, StrategiesAreSwitched) { run_seeds(Fault::switches, seeds()); }

// Planned or not, responses of several channels end in any order; what ended early is told late.
std::uint64_t team_seeds() { return std::max<std::uint64_t>(seeds() / 2, 20); }
TEST(TopoTeams, NothingGoesWrong) { run_seeds(Fault::none, team_seeds(), true); }
TEST(TopoTeams, TensorsMoreOrLess) { run_seeds(Fault::tensors, team_seeds(), true); }
TEST(TopoTeams, ShapesChange) { run_seeds(Fault::shape, team_seeds(), true); }
TEST(TopoTeams, MembersJoinOrLeave) { run_seeds(Fault::members, team_seeds(), true); }
TEST(TopoTeams, StrategiesAreSwitched) { run_seeds(Fault::switches, team_seeds(), true); }

}  // namespace
}  // namespace unisono::order
