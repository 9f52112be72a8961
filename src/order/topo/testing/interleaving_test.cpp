// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Every interleaving of three members that follow one plan of four operations: submissions in any
// order (where something goes wrong, members other than the odd one in an order of their own),
// negotiations, nudges, ends and the passing of time. Depth first over states; two paths that lead
// to the same state count as one from there on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/data/text.hpp"
#include "order/topo/plans/planned.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {
namespace {

constexpr int kMembers = 3;
constexpr Time kNow{1};

struct Scenario {
  std::string name;
  std::vector<std::vector<std::string>> buckets;
  int iterations = 1;
  std::string dropped, reshaped, extra;  // on member 1 alone, in the last iteration
  bool anytime = false;                 // member 1's patience may run out at any moment
  bool member_2_leaves = false;         // it submits nothing and leaves
};

struct MemberState {
  PlannedRun run;
  std::vector<std::string> todo;        // "name" or "name!" for a changed one; of this iteration
  int iteration = 0;
  std::multiset<std::string> in_flight;
  std::vector<PlanVote> given;            // by position
  std::size_t ended = 0;
  std::vector<std::uint64_t> nudges;    // on their way here
  bool nudged = false;                  // has sent or received one
  bool over = false, gone = false;
  std::string left_over;                // what goes back to the inner order, once over
};
using State = std::vector<MemberState>;

class Explorer {
 public:
  explicit Explorer(Scenario scenario) : scenario_(std::move(scenario)) {
    std::vector<std::vector<Request>> buckets;
    for (const auto& names : scenario_.buckets) {
      auto& bucket = buckets.emplace_back();
      for (const std::string& name : names) bucket.push_back(tensor_request(name));
    }
    plan_ = std::make_shared<const TopoPlan>(std::move(buckets));
  }

  void explore() {
    std::vector<State> stack;
    State first;
    for (int m = 0; m < kMembers; ++m) {
      first.push_back({PlannedRun({plan_}, m, 100, {}, kNow), todo(m, 0), 0, {}, {}, 0, {}, false,
                       false, false, {}});
    }
    push(stack, std::move(first));
    while (!stack.empty() && !testing::Test::HasFailure()) {
      const State state = std::move(stack.back());
      stack.pop_back();
      expand(state, stack);
    }
  }

  std::size_t states = 0, moves = 0, endings = 0;

 private:
  std::vector<std::string> todo(int member, int iteration) const {
    if (scenario_.member_2_leaves && member == 2) return {};
    std::vector<std::string> names;
    const bool odd = member == 1 && iteration + 1 == scenario_.iterations;
    for (const auto& bucket : scenario_.buckets) {
      for (const std::string& name : bucket) {
        if (odd && name == scenario_.dropped) continue;
        names.push_back(odd && name == scenario_.reshaped ? name + "!" : name);
      }
    }
    if (clean()) return names;
    if (member == 1) std::reverse(names.begin(), names.end());
    if (member == 2) std::rotate(names.begin(), names.begin() + 1, names.end());
    if (odd && !scenario_.extra.empty()) {
      names.insert(names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2), scenario_.extra);
    }
    return names;
  }

  // Nothing tells members that run the same program apart, so they are put in order.
  std::string key(const State& state) const {
    std::vector<std::string> parts;
    for (const MemberState& m : state) {
      std::string& out = parts.emplace_back();
      out += static_cast<char>('0' + m.iteration);
      for (const std::string& name : m.todo) out += name;
      out += '|';
      for (const std::string& name : m.in_flight) out += name;
      out += '|';
      for (const PlanVote vote : m.given) out += static_cast<char>('0' + static_cast<int>(vote));
      out += static_cast<char>('a' + m.ended);
      for (const std::uint64_t nudge : m.nudges) out += static_cast<char>('A' + nudge);
      out += static_cast<char>('0' + (m.nudged ? 1 : 0) + (m.over ? 2 : 0) + (m.gone ? 4 : 0));
    }
    if (clean()) std::sort(parts.begin(), parts.end());
    return cat(parts[0], ";", parts[1], ";", parts[2]);
  }

  void push(std::vector<State>& stack, State state) {
    ++moves;
    if (!seen_.insert(key(state)).second) return;
    ++states;
    stack.push_back(std::move(state));
  }

  void expand(const State& state, std::vector<State>& stack) {
    const std::size_t before = moves;
    for (int m = 0; m < kMembers; ++m) {
      if (state[static_cast<std::size_t>(m)].gone) continue;
      submit(state, m, stack);
      negotiate(state, m, kNow, stack);
      nudge(state, m, stack);
      end(state, m, stack);
      if (scenario_.member_2_leaves && m == 2) leave(state, stack);
      if (scenario_.anytime && m == 1) pass_time(state, m, stack);
    }
    if (moves != before) return;
    for (int m = 0; m < kMembers; ++m) pass_time(state, m, stack);
    if (moves == before) check_end(state);
  }

  bool clean() const {
    return scenario_.dropped.empty() && scenario_.reshaped.empty() && scenario_.extra.empty() &&
           !scenario_.anytime && !scenario_.member_2_leaves;
  }
  static MemberState& at(State& state, int m) { return state[static_cast<std::size_t>(m)]; }
  static const MemberState& at(const State& state, int m) {
    return state[static_cast<std::size_t>(m)];
  }

  void submit(const State& state, int m, std::vector<State>& stack) {
    const MemberState& member = at(state, m);
    if (member.over) return;
    if (member.todo.empty() && member.iteration + 1 < scenario_.iterations) {
      State next = state;
      at(next, m).todo = todo(m, ++at(next, m).iteration);
      push(stack, std::move(next));
      return;
    }
    const bool any_order = clean() || (m == 1 && !scenario_.anytime);
    const std::size_t choices = std::min(member.todo.size(), any_order ? SIZE_MAX : std::size_t{1});
    for (std::size_t i = 0; i < choices; ++i) {
      std::string name = member.todo[i];
      const bool changed = name.back() == '!';
      if (changed) name.pop_back();
      if (member.in_flight.contains(name)) continue;
      State next = state;
      MemberState& it = at(next, m);
      it.todo.erase(it.todo.begin() + static_cast<std::ptrdiff_t>(i));
      it.in_flight.insert(name);
      it.run.submit(tensor_request(name, changed ? Shape{9} : Shape{4}), kNow);
      push(stack, std::move(next));
    }
  }

  void negotiate(const State& state, int m, Time now, std::vector<State>& stack) {
    if (at(state, m).over || at(state, m).run.deadline() > now) return;
    State next = state;
    MemberState& member = at(next, m);
    std::vector<Response> responses;
    member.run.negotiate(now, responses);
    ASSERT_FALSE(responses.empty());
    for (const Response& response : responses) {
      EXPECT_EQ(response.sequence, 100 + member.given.size());
      member.given.push_back(response.vote);
      if (response.vote == PlanVote::abort) continue;
      for (const Request& tensor : response.tensors) {
        EXPECT_TRUE(member.in_flight.contains(tensor.name));
      }
    }
    if (member.run.stopped_at() && !member.nudged) {
      member.nudged = true;
      for (int other = 0; other < kMembers; ++other) {
        if (other == m || at(next, other).gone) continue;
        at(next, other).nudges.push_back(*member.run.stopped_at());
      }
    }
    push(stack, std::move(next));
  }

  void pass_time(const State& state, int m, std::vector<State>& stack) {
    const Time due = at(state, m).run.deadline();
    if (!at(state, m).over && !at(state, m).gone && due != kNever) negotiate(state, m, due, stack);
  }

  void nudge(const State& state, int m, std::vector<State>& stack) {
    if (at(state, m).nudges.empty()) return;
    State next = state;
    MemberState& member = at(next, m);
    member.run.nudged(member.nudges.front());
    member.nudges.erase(member.nudges.begin());
    member.nudged = true;
    push(stack, std::move(next));
  }

  void end(const State& state, int m, std::vector<State>& stack) {
    const MemberState& member = at(state, m);
    if (member.over || member.given.size() == member.ended) return;
    const std::size_t position = member.ended;
    PlanVote strongest = PlanVote::run;
    for (const MemberState& other : state) {
      if (other.given.size() <= position && !other.gone) return;
      if (other.ended < position) return;
      strongest = std::max(strongest, other.given.size() <= position ? PlanVote::abort
                                                                     : other.given[position]);
    }
    State next = state;
    MemberState& it = at(next, m);
    if (strongest != PlanVote::abort) {
      ++it.ended;
      for (const Request& tensor : plan_->bucket(position % plan_->size())) {
        ASSERT_TRUE(it.in_flight.contains(tensor.name)) << scenario_.name;
        it.in_flight.erase(it.in_flight.find(tensor.name));
      }
    }
    it.over = it.run.ended(100 + position, strongest, kNow);
    EXPECT_EQ(it.over, strongest != PlanVote::run);
    if (it.over) {
      EXPECT_EQ(it.run.next_sequence(), 100 + it.ended);
      std::multiset<std::string> back;
      for (const Request& request : it.run.drain()) back.insert(request.name);
      EXPECT_EQ(back, it.in_flight) << scenario_.name << ": lost or doubled";
    }
    push(stack, std::move(next));
  }

  void leave(const State& state, std::vector<State>& stack) {
    State next = state;
    at(next, 2).gone = true;
    for (int m = 0; m < 2; ++m) at(next, m).run.member_left();
    push(stack, std::move(next));
  }

  // Nothing can happen any more.
  void check_end(const State& state) {
    ++endings;
    for (const MemberState& member : state) {
      if (member.gone) continue;
      EXPECT_EQ(member.over, state[0].over) << scenario_.name << " " << key(state);
      EXPECT_EQ(member.ended, state[0].ended) << scenario_.name << " " << key(state);
      EXPECT_TRUE(member.over || member.in_flight.empty()) << scenario_.name << " " << key(state);
      if (clean()) {
        EXPECT_FALSE(member.over);
      }
    }
  }

  const Scenario scenario_;
  std::shared_ptr<const TopoPlan> plan_;
  std::unordered_set<std::string> seen_;
};

TEST(TopoInterleaving, AllOfThreeMembersAndFourOperations) {
#ifdef UNISONO_SANITIZED  // even one of these plans takes a quarter of an hour there
  const std::vector<std::vector<std::vector<std::string>>> plans;
#else
  const std::vector<std::vector<std::vector<std::string>>> plans = {
      {{"a"}, {"b"}, {"c"}, {"d"}}, {{"a", "b"}, {"c", "d"}}, {{"a", "b", "c", "d"}},
      {{"a"}, {"b", "c"}, {"d"}}};
#endif
  std::vector<Scenario> scenarios;
  for (const auto& buckets : plans) {
    const std::string shape = cat(buckets.size(), " buckets");
    scenarios.push_back({cat(shape, ", clean"), buckets, 1, "", "", "", false, false});
    scenarios.push_back({cat(shape, ", impatient"), buckets, 1, "", "", "", true, false});
    for (const char* name : {"a", "c"}) {
      const std::string what = cat(shape, ", ", name);
      scenarios.push_back({cat(what, " dropped"), buckets, 1, name, "", "", false, false});
      scenarios.push_back({cat(what, " reshaped"), buckets, 1, "", name, "", false, false});
    }
    scenarios.push_back({cat(shape, ", one more"), buckets, 1, "", "", "x", false, false});
    scenarios.push_back({cat(shape, ", one leaves"), buckets, 1, "", "", "", false, true});
  }
  scenarios.push_back({"2 iterations, clean", {{"a"}, {"b"}}, 2, "", "", "", false, false});
  scenarios.push_back({"2 iterations, dropped", {{"a"}, {"b"}}, 2, "a", "", "", false, false});
#ifndef UNISONO_SANITIZED
  scenarios.push_back({"2 iterations, impatient", {{"a"}, {"b"}}, 2, "", "", "", true, false});
  scenarios.push_back({"2 iterations, one more", {{"a"}, {"b"}}, 2, "", "", "x", false, false});
#endif
  std::size_t states = 0, moves = 0, endings = 0;
  for (Scenario& scenario : scenarios) {
    const std::string name = scenario.name;
    Explorer explorer(std::move(scenario));
    explorer.explore();
    ASSERT_FALSE(HasFailure()) << name;
    EXPECT_GT(explorer.endings, 0u);
    std::cout << "[ " << name << " ] " << explorer.states << " states, " << explorer.moves
              << " moves, " << explorer.endings << " endings" << std::endl;
    states += explorer.states;
    moves += explorer.moves;
    endings += explorer.endings;
  }
  std::cout << "[ all ] " << states << " states, " << moves << " moves, " << endings
            << " endings\n";
}

}  // namespace
}  // namespace unisono::order
