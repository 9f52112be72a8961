// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Plans and several teams in a running engine: seeded programs with dependencies, in which tensors
// are left out, added or changed, two kinds of steps take turns, and ranks join early or leave.
// Whatever a ticket reports as done is the right sum, everything is answered, and all ranks have
// run one sequence.
// UNISONO_SEEDS=n runs n seeds of each number of teams; a failing seed is printed.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "engine/peers/tcp_ranks.hpp"
#include "engine/testing/thread_ranks.hpp"

namespace unisono::engine {
namespace {

std::uint64_t seeds() {
  const char* text = std::getenv("UNISONO_SEEDS");
  if (text != nullptr) return std::strtoull(text, nullptr, 10);
  return short_of_time() ? 2 : 6;
}

// How a rank goes from one wave of tensors to the next.
enum class Looks { waits, asks, is_called };

enum class Change {
  none,
  less_on_all,
  more_on_all,
  other_on_all,
  other_on_one,
  less_on_one,
  more_on_one
};

struct Tensor {
  std::string name;
  std::size_t elements;
  std::size_t wave;                     // submitted once the waves before it were seen done
};

// What all ranks know of a program: drawn once from the seed.
struct Program {
  explicit Program(std::uint64_t seed) : rng(seed * 0x9E3779B97F4A7C15u + 3) {
    ranks = 2 + static_cast<int>(rng.below(3));
    waves = 1 + rng.below(3);
    const std::size_t count = 6 + rng.below(8);
    for (std::size_t t = 0; t < count; ++t) {
      // From what fits a board line to what is cut into slices.
      tensors.push_back({cat("t", t), std::size_t{1} << rng.below(15), t % waves});
    }
    looks = static_cast<Looks>(rng.below(3));
    const auto draw = rng.below(12);      // what only a time limit ends comes seldom
    change = draw < 10 ? static_cast<Change>(draw / 2) : static_cast<Change>(draw - 5);
    changed = rng.below(count);
    // What the others wait for until the limit is in the last wave; otherwise the rest of the step
    // would be late as well.
    if (change >= Change::less_on_one) changed = waves - 1;
    odd = static_cast<Rank>(rng.below(static_cast<std::uint64_t>(ranks)));
    leaves = rng.below(3) == 0;
    joins = rng.below(3) == 0;
    alternates = rng.below(2) == 0;
  }

  Rng rng;
  int ranks;
  std::size_t waves;
  std::vector<Tensor> tensors;
  Looks looks;
  Change change;                        // in one step
  std::size_t changed;                  // which tensor
  Rank odd;                             // who is "one"
  bool leaves, joins;                   // the odd rank does, before the others
  bool alternates;                      // another kind of step comes now and then
};

class Runner {
 public:
  Runner(Engine& engine, const Program& program, std::uint64_t seed)
      : engine_(engine),
        program_(program),
        rng_(seed + 77 * static_cast<std::uint64_t>(engine.rank())) {}

  // Returns what failed; the sums of the rest are checked here, over the ranks that take part.
  std::set<std::string> step(float sum, Change change = Change::none) {
    std::set<std::string> failed;
    std::map<std::string, std::vector<float>> data;
    const bool odd = engine_.rank() == program_.odd;
    const auto is = [&](Change all, Change one) { return change == all || (change == one && odd); };
    for (std::size_t wave = 0; wave < program_.waves; ++wave) {
      std::vector<std::pair<std::string, std::size_t>> turns;
      for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
        const Tensor& tensor = program_.tensors[t];
        if (tensor.wave != wave) continue;
        const bool changed = t == program_.changed;
        if (changed && is(Change::less_on_all, Change::less_on_one)) continue;
        const bool other = changed && is(Change::other_on_all, Change::other_on_one);
        turns.emplace_back(tensor.name, tensor.elements + (other ? 1 : 0));
      }
      const bool last = wave + 1 == program_.waves;
      if (last && is(Change::more_on_all, Change::more_on_one)) turns.emplace_back("more", 5);
      rng_.shuffle(turns);
      submit(turns, sum, data, failed);
    }
    return failed;
  }
  // Other tensors, and nothing of a step.
  std::set<std::string> evaluate(float sum) {
    std::set<std::string> failed;
    std::map<std::string, std::vector<float>> data;
    std::vector<std::pair<std::string, std::size_t>> turns = {{"e0", 7}, {"e1", 5000}, {"e2", 300}};
    rng_.shuffle(turns);
    submit(turns, sum, data, failed);
    return failed;
  }

 private:
  void submit(const std::vector<std::pair<std::string, std::size_t>>& turns, float sum,
              std::map<std::string, std::vector<float>>& data, std::set<std::string>& failed) {
    std::atomic<std::size_t> called{0};
    std::vector<Ticket> tickets;
    for (const auto& [name, elements] : turns) {
      data[name].assign(elements, static_cast<float>(engine_.rank() + 1));
      Settings settings{.op = ReduceOp::sum};
      if (program_.looks == Looks::is_called) {
        settings.on_done = [&called](const Status&) { called.fetch_add(1); };
      }
      tickets.push_back(engine_.allreduce<float>(name, data[name], settings));
    }
    if (program_.looks == Looks::is_called) {
      while (called.load() < tickets.size()) std::this_thread::yield();
    }
    if (program_.looks == Looks::asks) {
      for (const Ticket& ticket : tickets) {
        while (!ticket.done()) std::this_thread::yield();
      }
    }
    for (const Ticket& ticket : tickets) {
      if (!ticket.wait().ok()) {
        failed.insert(ticket.name());
        continue;
      }
      for (const float value : data[ticket.name()]) ASSERT_EQ(value, sum) << ticket.name();
    }
  }

  Engine& engine_;
  const Program& program_;
  Rng rng_;
};

// Nobody goes on from a changed step before all know how it ended: a rank that left a tensor out
// would make up for it.
void run_rank(Engine& engine, const Program& program, std::uint64_t seed, std::barrier<>& together,
              std::uint64_t& digest) {
  Runner runner(engine, program, seed);
  const int steps = program.alternates ? 24 : 12;
  const float sum = static_cast<float>(program.ranks * (program.ranks + 1) / 2);
  const auto same_steps = [&](const char* when) {
    for (int i = 0; i < steps; ++i) {
      const bool other = program.alternates && i % 3 == 2;
      const auto failed = other ? runner.evaluate(sum) : runner.step(sum);
      EXPECT_TRUE(failed.empty()) << when << ", step " << i << ": " << *failed.begin();
    }
  };
  same_steps("at first");
  together.arrive_and_wait();
  const bool on_one = program.change >= Change::other_on_one;
  for (const std::string& name : runner.step(sum, program.change)) {
    const bool troubled = name == "more" || name == program.tensors[program.changed].name;
    EXPECT_TRUE(on_one && troubled) << name;
  }
  together.arrive_and_wait();
  same_steps("later");
  if (program.joins) {
    // The odd rank has no data for one step.
    if (engine.rank() != program.odd) {
      const auto failed = runner.step(sum - static_cast<float>(program.odd + 1));
      EXPECT_TRUE(failed.empty()) << "without one rank: " << *failed.begin();
    }
    EXPECT_TRUE(engine.join_ranks().wait().ok());
    same_steps("after the join");
  }
  digest = engine.stats().order_digest;
  together.arrive_and_wait();
  if (!program.leaves || engine.rank() == program.odd) return;
  // Without that rank the others cannot sum anything: everything fails, and nothing hangs.
  EXPECT_EQ(runner.step(0).size(), program.tensors.size());
}

void run_program(std::uint64_t seed, std::int64_t teams, bool by_messages) {
  const Program program(seed);
  SCOPED_TRACE(cat("seed ", seed, ", ", teams, " teams", by_messages ? " by messages" : ""));
  Options options;
  options.teams = teams;
  options.order = "topo";
  options.fusion_bytes = 16 << 10;      // several buckets a round
  options.topo_patience_s = 0.05;
  options.stall_limit_s = 3;
  // In every other program plans choose codecs, too; the sums are exact in either of them.
  if (seed % 2 == 1) {
    options.plan_codecs = "fp16,bf16";
    options.emulate = "alpha=20us,beta=20ns";
  }
  std::vector<std::uint64_t> digests(static_cast<std::size_t>(program.ranks));
  std::barrier<> together(program.ranks);
  run_ranks(program.ranks, [&](Engine& engine) {
    SCOPED_TRACE(cat("seed ", seed, ", ", teams, " teams, rank ", engine.rank()));
    run_rank(engine, program, seed, together, digests[static_cast<std::size_t>(engine.rank())]);
  }, options, by_messages ? 1 : 0);
  for (const std::uint64_t digest : digests) EXPECT_EQ(digest, digests.front());
}

class PlanTeams : public testing::TestWithParam<std::tuple<int, bool>> {};
INSTANTIATE_TEST_SUITE_P(Teams, PlanTeams,
                         testing::Combine(testing::Values(1, 2, 3, 4), testing::Bool()));

TEST_P(PlanTeams, SumsAreRightAndTheSequenceIsOne) {
  const auto [teams, by_messages] = GetParam();
  for (std::uint64_t seed = 0; seed < seeds() && !HasFailure(); ++seed)
    run_program(seed, teams, by_messages);
}

// An emulated wire keeps each bucket so long that all that may travel together do.
TEST_P(PlanTeams, AsManyPlannedBucketsAreOnTheirWayAsThereAreTeams) {
  const auto [teams, by_messages] = GetParam();
  Options options;
  options.teams = teams;
  options.order = "topo";
  options.planner = "wfbp";
  options.topo_patience_s = 30;
  options.emulate = "alpha=2ms";
  const auto team_count = static_cast<std::uint64_t>(teams);
  std::barrier<> together(2);           // a rank that leaves ends the plan
  run_ranks(2, [&](Engine& engine) {
    std::vector<std::vector<float>> data(5, std::vector<float>(300));
    const auto step = [&] {
      std::vector<Ticket> tickets;
      for (std::size_t t = 0; t < data.size(); ++t) {
        data[t].assign(data[t].size(), static_cast<float>(engine.rank() + 1));
        tickets.push_back(engine.allreduce<float>(cat("t", t), data[t], {.op = ReduceOp::sum}));
      }
      for (std::size_t t = 0; t < data.size(); ++t) {
        ASSERT_TRUE(tickets[t].wait().ok());
        for (const float value : data[t]) ASSERT_EQ(value, 3.0F);
      }
    };
    for (int i = 0; i < 30; ++i) step();
    const Stats stats = engine.stats();
    EXPECT_TRUE(stats.order.planned) << stats.order.reason;
    EXPECT_EQ(stats.order.buckets, 5u);
    EXPECT_EQ(stats.buckets_at_once, team_count);
    together.arrive_and_wait();
  }, options, by_messages ? 1 : 0);
}

// Everything at once: types, a group, teams by name and without, memory of the arena and the
// caller's own, and everything is written over as soon as its ticket is done.
void mixed_steps(Engine& engine, int teams) {
  struct Mixed {
    std::string name;
    std::vector<float> floats;
    std::vector<double> doubles;
    int team;
  };
  std::vector<Mixed> mixed;
  for (std::size_t t = 0; t < 6; ++t) {
    mixed.push_back({cat("m", t), std::vector<float>(t % 2 == 0 ? 40 << t : 0),
                     std::vector<double>(t % 2 == 0 ? 0 : 30 << t),
                     t % 3 == 0 ? 1 + static_cast<int>(t) % teams : 0});
  }
  auto block = engine.arena().allocate(4096 * sizeof(float));
  ASSERT_TRUE(block.ok()) << block.status().to_string();
  const std::span<float> shared = block->as<float>();
  std::vector<float> first(700), second(9);
  const auto me = static_cast<float>(engine.rank() + 1);
  const float sum = static_cast<float>(engine.size() * (engine.size() + 1) / 2);
  for (int step = 0; step < 25; ++step) {
    std::vector<Ticket> tickets;
    for (Mixed& each : mixed) {
      each.floats.assign(each.floats.size(), me);
      each.doubles.assign(each.doubles.size(), me);
      const Settings settings{.op = ReduceOp::sum, .team = each.team};
      tickets.push_back(each.floats.empty()
                            ? engine.allreduce<double>(each.name, each.doubles, settings)
                            : engine.allreduce<float>(each.name, each.floats, settings));
    }
    std::fill(shared.begin(), shared.end(), me);
    tickets.push_back(engine.allreduce<float>("arena", shared, {.op = ReduceOp::sum}));
    first.assign(first.size(), me);
    second.assign(second.size(), me);
    std::vector<Operation> group;
    for (std::vector<float>* each : {&first, &second}) {
      group.push_back({.name = cat("g", group.size()), .dtype = DType::f32,
                       .shape = {static_cast<std::int64_t>(each->size())}, .input = each->data(),
                       .output = each->data()});
    }
    for (Ticket& ticket : engine.submit_group("g", std::move(group), {.op = ReduceOp::sum})) {
      tickets.push_back(std::move(ticket));
    }
    const auto check = [&](auto& data) {
      for (auto& value : data) {
        ASSERT_EQ(static_cast<float>(value), sum) << "step " << step;
        value = -7;
      }
    };
    for (std::size_t t = 0; t < tickets.size(); ++t) {
      ASSERT_TRUE(tickets[t].wait().ok()) << tickets[t].wait().to_string();
      if (t < mixed.size()) {
        check(mixed[t].floats);
        check(mixed[t].doubles);
      } else if (t == mixed.size()) {
        check(shared);
      } else {
        check(t == mixed.size() + 1 ? first : second);
      }
    }
  }
}

TEST_P(PlanTeams, MixedTensorsComeOutRight) {
  const auto [teams, by_messages] = GetParam();
  for (const bool fuse_groups : {false, true}) {
    Options options;
    options.teams = teams;
    options.order = "topo";
    options.topo_patience_s = 30;
    options.fuse_groups = fuse_groups;
    options.buffer_bytes = 8192;
    const int team_count = teams;
    const auto body = [&](Engine& engine) { mixed_steps(engine, team_count); };
    run_ranks(3, body, options, by_messages ? 1 : 0);
    if (by_messages) run_tcp_ranks(2, body, options);
  }
}

TEST(PlanGroups, ShareABucketOnlyWhereTheyMay) {
  const auto buckets = [](bool fuse_groups) {
    Options options;
    options.order = "topo";
    options.planner = "single";
    options.topo_patience_s = 30;
    options.fuse_groups = fuse_groups;
    std::uint64_t count = 0;
    std::barrier<> together(2);
    run_ranks(2, [&](Engine& engine) {
      std::vector<std::vector<float>> data(5, std::vector<float>(10));
      for (int step = 0; step < 30; ++step) {
        std::vector<Ticket> tickets;
        std::vector<Operation> group;
        for (std::size_t t = 0; t < data.size(); ++t) {
          data[t].assign(10, 1.0F);
          if (t < 2) {
            group.push_back({.name = cat("g", t), .dtype = DType::f32, .shape = {10},
                             .input = data[t].data(), .output = data[t].data()});
          } else {
            tickets.push_back(engine.allreduce<float>(cat("t", t), data[t], {.op = ReduceOp::sum}));
          }
        }
        for (Ticket& ticket : engine.submit_group("g", std::move(group), {.op = ReduceOp::sum})) {
          tickets.push_back(std::move(ticket));
        }
        for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait().ok());
        for (const auto& each : data) ASSERT_EQ(each, std::vector<float>(10, 2.0F));
      }
      EXPECT_TRUE(engine.stats().order.planned) << engine.stats().order.reason;
      if (engine.rank() == 0) count = engine.stats().order.buckets;
      together.arrive_and_wait();
    }, options);
    return count;
  };
  EXPECT_EQ(buckets(false), 2u);
  EXPECT_EQ(buckets(true), 1u);
}

}  // namespace
}  // namespace unisono::engine
