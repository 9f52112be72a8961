// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/select/selector.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "cost/algorithms.hpp"
#include "model/options/choices.hpp"

namespace unisono::run {
namespace {

int number_of_algorithm(std::string_view name) {
  const auto at = std::find_if(std::begin(kAlgorithmChoices), std::end(kAlgorithmChoices),
                               [&](const OptionChoice& each) { return each.name == name; });
  return at == std::end(kAlgorithmChoices) ? -1 : static_cast<int>(at - kAlgorithmChoices);
}

std::string_view algorithm_numbered(int number) {
  return number >= 0 && number < static_cast<int>(std::size(kAlgorithmChoices))
             ? kAlgorithmChoices[number].name
             : std::string_view();
}

}  // namespace

Selector::Selector(SelectorParts parts)
    : parts_(parts),
      layout_(cost::layout_of(*parts.network, *parts.members)),
      context_{.members = parts.members, .host = parts.host} {}

Selector::~Selector() {
  if (parts_.explanations != nullptr) parts_.explanations->forget(parts_.set, parts_.channel);
}

Choice Selector::choose(const Question& question, Time now) {
  const SizeClass of{SizeClass::power_of(question.bytes),
                     move::rounds_coarsely(question.dtype) ? question.dtype : DType::f32,
                     question.encoded};
  auto it = states_.find(of);
  if (it == states_.end()) {
    it = states_.emplace(of, open(of, question)).first;
    explain(of, it->second);
  }
  const State& state = it->second;
  if (state.frozen) {
    // Fixed rules draw lines within a class.
    const bool by_rule = state.candidates.empty();
    return {by_rule ? move::choose_allreduce(algorithm_of(*parts_.options), context_,
                                             question.dtype, question.bytes)
                    : state.chosen};
  }
  return {state.candidates[state.next].algorithm, true, of, now};
}

Selector::State Selector::fixed(const Question& question, std::string reason) const {
  State state;
  state.chosen = move::choose_allreduce(algorithm_of(*parts_.options), context_, question.dtype,
                                        question.bytes);
  state.frozen = true;
  state.reason = std::move(reason);
  return state;
}

Selector::State Selector::open(const SizeClass& of, const Question& question) const {
  const Options& options = *parts_.options;
  if (options.deterministic) {
    return fixed(question, "deterministic=true never decides by measured time");
  }
  if (options.algorithm != "auto") return fixed(question, cat("pinned by algorithm=", options.algorithm));
  if (!parts_.network->usable || layout_.n < 2) {
    return fixed(question, "chosen by size and number of members, as no link was measured");
  }
  // The middle of the class stands for all of it, so that the first bucket does not decide for others.
  const std::size_t bytes = of.middle();
  std::vector<cost::Candidate> candidates;
  for (const std::string_view name : move::allreduce_candidates(context_, question.dtype)) {
    const double predicted =
        cost::predict_allreduce(name, layout_, bytes, parts_.network->costs);
    candidates.push_back({name, corrections_.corrected(name, of.power, predicted)});
  }
  const bool only_one = candidates.size() == 1;
  State state;
  state.usual = move::choose_allreduce("auto", context_, question.dtype, bytes);
  candidates = cost::shortlist(std::move(candidates), state.usual);
  for (const cost::Candidate& each : candidates) {
    state.candidates.push_back({each.algorithm, each.predicted_s});
  }
  state.chosen = state.candidates.front().algorithm;
  state.frozen = state.candidates.size() == 1;
  state.reason = only_one ? "the only one for this dtype among so few members"
                 : state.frozen
                     ? cat("no other is predicted to take less than ", cost::kWorthATrial, "x as long")
                     : "on trial";
  return state;
}

double Selector::predict_s(std::size_t bytes) const {
  if (!parts_.network->usable || layout_.n < 2) return 0;
  const int power = SizeClass::power_of(bytes);
  const auto predicted = [&](std::string_view name) {
    return corrections_.corrected(
        name, power, cost::predict_allreduce(name, layout_, bytes, parts_.network->costs));
  };
  const auto known = states_.find(SizeClass{power, DType::f32, false});
  if (known != states_.end() && known->second.frozen && !known->second.chosen.empty()) {
    return predicted(known->second.chosen);
  }
  double best = 0;
  for (const std::string_view name : move::allreduce_candidates(context_, DType::f32)) {
    const double seconds = predicted(name);
    if (best == 0 || seconds < best) best = seconds;
  }
  return best;
}

int Selector::remembered(const Choice& choice) const {
  return number_of_algorithm(
      parts_.remembered->find(layout_, parts_.host != nullptr, choice.of));
}

void Selector::learn(const Choice& choice, const TrialResult& result) {
  const auto it = states_.find(choice.of);
  UNISONO_CHECK(it != states_.end());
  State& state = it->second;
  UNISONO_CHECK(!state.frozen && state.candidates[state.next].algorithm == choice.algorithm);
  Tried& tried = state.candidates[state.next];
  if (std::isfinite(result.seconds)) {
    tried.measured_s = tried.runs == 0 ? result.seconds : std::min(tried.measured_s, result.seconds);
    ++tried.runs;
    state.next = (state.next + 1) % state.candidates.size();
  }
  const std::string_view known = algorithm_numbered(result.remembered);
  const bool over = std::all_of(state.candidates.begin(), state.candidates.end(),
                                [](const Tried& each) { return each.runs >= kRunsEach; });
  const auto kept = std::find_if(state.candidates.begin(), state.candidates.end(),
                                 [&](const Tried& each) { return each.algorithm == known; });
  if (kept != state.candidates.end()) {
    state.chosen = kept->algorithm;
    state.frozen = true;
    state.reason = "the fastest when members of this layout tried it before";
  } else if (over) {
    freeze(state, choice.of);
  } else {
    int runs = 0;
    for (const Tried& each : state.candidates) runs += each.runs;
    state.reason = cat("on trial, after ", runs, " of ",
                       state.candidates.size() * std::size_t{kRunsEach}, " runs");
  }
  explain(choice.of, state);
}

void Selector::freeze(State& state, const SizeClass& of) {
  const auto fastest = std::min_element(
      state.candidates.begin(), state.candidates.end(),
      [](const Tried& a, const Tried& b) { return a.measured_s < b.measured_s; });
  const auto usual = std::find_if(state.candidates.begin(), state.candidates.end(),
                                  [&](const Tried& each) { return each.algorithm == state.usual; });
  const bool by_chance = usual != state.candidates.end() && usual != fastest &&
                         usual->measured_s <= kByChance * fastest->measured_s;
  state.chosen = by_chance ? usual->algorithm : fastest->algorithm;
  state.frozen = true;
  state.reason = by_chance
                     ? cat("usual at this size, and ", fastest->algorithm, " is not clearly faster")
                     : cat("the fastest of ", state.candidates.size(), " in ", kRunsEach,
                           " runs each",
                           fastest == state.candidates.begin() ? ", as predicted" : "");
  // Later classes build on what these took; what was corrected already is corrected further.
  for (const Tried& each : state.candidates) {
    const double raw =
        cost::predict_allreduce(each.algorithm, layout_, of.middle(), parts_.network->costs);
    corrections_.note(each.algorithm, of.power, raw, each.measured_s);
  }
  parts_.remembered->keep(layout_, parts_.host != nullptr, of, state.chosen);
}

void Selector::explain(const SizeClass& of, const State& state) const {
  if (parts_.explanations == nullptr) return;
  AlgorithmChoice choice{.set = parts_.set,
                         .channel = parts_.channel,
                         .bytes_min = of.power == 0 ? 0 : std::uint64_t{1} << (of.power - 1),
                         .bytes_max = (std::uint64_t{1} << of.power) - 1,
                         .dtype = of.dtype == DType::f32 ? "" : std::string(name_of(of.dtype)),
                         .encoded = of.encoded,
                         .algorithm = std::string(state.frozen
                                                      ? state.chosen
                                                      : state.candidates[state.next].algorithm),
                         .frozen = state.frozen,
                         .reason = state.reason,
                         .candidates = {}};
  for (const Tried& each : state.candidates) {
    choice.candidates.push_back({std::string(each.algorithm), each.predicted_s * 1e6,
                                 each.measured_s * 1e6, each.runs});
  }
  parts_.explanations->set(of, std::move(choice));
}

}  // namespace unisono::run
