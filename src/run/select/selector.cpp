// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/select/selector.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "cost/algorithms.hpp"
#include "model/collective_traits.hpp"
#include "model/options/choices.hpp"
#include "model/options/emulated_wire.hpp"

namespace unisono::run {
namespace {

int number_of_algorithm(std::string_view name) {
  const auto at = std::find_if(kAlgorithmChoices.begin(), kAlgorithmChoices.end(),
                               [&](const OptionChoice& each) { return each.name == name; });
  return at == kAlgorithmChoices.end() ? -1 : static_cast<int>(at - kAlgorithmChoices.begin());
}

std::string_view algorithm_numbered(int number) {
  return number >= 0 && number < static_cast<int>(kAlgorithmChoices.size())
             ? kAlgorithmChoices[static_cast<std::size_t>(number)].name
             : std::string_view();
}

}  // namespace

Selector::Selector(SelectorParts parts)
    : parts_(parts),
      layout_(cost::layout_of(*parts.network, *parts.members)),
      context_{.members = parts.members, .host = parts.host},
      costs_(parts.network->costs) {}

Selector::~Selector() {
  if (parts_.explanations != nullptr) parts_.explanations->forget(parts_.set, parts_.channel);
}

SizeClass Selector::class_of(const Question& question) {
  const bool coarse = traits_of(question.kind).reduces && move::rounds_coarsely(question.dtype);
  return {question.kind, SizeClass::power_of(question.bytes),
          coarse ? question.dtype : DType::f32, question.encoded};
}

Choice Selector::choose(const Question& question, Time now) {
  const SizeClass of = class_of(question);
  auto it = states_.find(of);
  if (it == states_.end()) {
    State opened = open(of, question);
    if (!opened.frozen && !knows_steps()) {
      opening_ = question.dtype;
      return {opened.usual, true, of, now, question.bytes, true};
    }
    it = states_.emplace(of, std::move(opened)).first;
    explain(of, it->second);
  }
  const State& state = it->second;
  if (state.frozen) {
    // Fixed rules draw lines within a class.
    return {state.candidates.empty() ? by_rule(question) : state.chosen};
  }
  return {state.candidates[state.next].algorithm, true, of, now, question.bytes};
}

std::string_view Selector::by_rule(const Question& question) const {
  return move::choose_algorithm(question.kind, algorithm_of(*parts_.options, question.kind),
                                context_, question.dtype, question.bytes);
}

double Selector::predicted(const SizeClass& of, std::string_view algorithm,
                           std::size_t bytes) const {
  return cost::predict(of.kind, algorithm, layout_, bytes, costs_);
}

// The same in the light of trials of other sizes.
double Selector::corrected(const SizeClass& of, std::string_view algorithm,
                           std::size_t bytes) const {
  const double raw = predicted(of, algorithm, bytes);
  const auto found = corrections_.find(of.kind);
  return found == corrections_.end() ? raw : found->second.corrected(algorithm, of.power, raw);
}

// A barrier has as many steps as the number of members has bits, and each crosses the slowest link.
void Selector::note_meeting(double seconds) {
  constexpr std::size_t kKept = 9;
  meetings_.push_back(seconds);
  if (meetings_.size() > kKept) meetings_.erase(meetings_.begin());
  std::vector<double> sorted = meetings_;
  std::sort(sorted.begin(), sorted.end());
  costs_ = parts_.network->costs;
  costs_.refine_steps(layout_.hosts > 1 ? layout_.between : layout_.within,
                      sorted[(sorted.size() - 1) / 2] / cost::barrier_steps(layout_.n));
}

Selector::State Selector::fixed(const Question& question, std::string reason) const {
  State state;
  state.chosen = by_rule(question);
  state.frozen = true;
  state.reason = std::move(reason);
  return state;
}

Selector::State Selector::open(const SizeClass& of, const Question& question) const {
  const Options& options = *parts_.options;
  if (options.deterministic) {
    return fixed(question, "deterministic=true never decides by measured time");
  }
  if (options.algorithm != "auto") {
    State state = fixed(question, cat("pinned by algorithm=", options.algorithm));
    if (state.chosen != options.algorithm) {
      state.reason = cat("by fixed lines, as algorithm=", options.algorithm,
                         move::algorithm_known(question.kind, options.algorithm)
                             ? " needs members that share memory on some host"
                             : " is none of this collective");
    }
    return state;
  }
  if (!parts_.network->usable || layout_.n < 2) {
    return fixed(question, "chosen by size and number of members, as no link was measured");
  }
  const std::size_t bytes = question.bytes;
  std::vector<cost::Candidate> candidates;
  for (const std::string_view name :
       move::algorithm_candidates(of.kind, context_, question.dtype, bytes)) {
    candidates.push_back({name, corrected(of, name, bytes)});
  }
  const bool only_one = candidates.size() == 1;
  State state;
  state.usual = move::choose_algorithm(of.kind, "auto", context_, question.dtype, bytes);
  state.bytes = bytes;
  const std::vector<cost::Candidate> all = candidates;
  candidates = cost::shortlist(std::move(candidates), state.usual);
  for (const cost::Candidate& each : candidates) {
    state.candidates.push_back({each.algorithm, each.predicted_s});
  }
  for (const cost::Candidate& each : all) {
    const bool tried = std::any_of(candidates.begin(), candidates.end(), [&](const auto& other) {
      return other.algorithm == each.algorithm;
    });
    if (!tried) state.others.push_back({each.algorithm, each.predicted_s});
  }
  state.chosen = state.candidates.front().algorithm;
  state.frozen = state.candidates.size() == 1;
  state.reason = only_one ? "the only one for this dtype among so few members"
                 : state.frozen
                     ? cat("no other is predicted to take less than ", cost::kWorthATrial, "x as long")
                     : "on trial";
  return state;
}

Selector::Prediction Selector::predict(const Question& question) const {
  if (!parts_.network->usable || layout_.n < 2) return {};
  const std::size_t bytes = question.bytes;
  const SizeClass of = class_of(question);
  const double emulated_s = parse_emulated_wire(parts_.options->emulate)->seconds(bytes);
  // Partial sums of 16-bit floats that go from member to member are twice as wide: half of the way.
  const bool coarse = traits_of(of.kind).reduces && move::rounds_coarsely(question.dtype);
  const auto seconds = [&](std::string_view name) {
    const bool widens = coarse && name != "direct" && name != "hierarchical";
    return emulated_s + corrected(of, name, widens ? bytes + bytes / 2 : bytes);
  };
  const auto known = states_.find(of);
  if (known != states_.end() && known->second.frozen) {
    const State& state = known->second;
    const bool by_rules = state.candidates.empty();
    return {seconds(state.chosen), by_rules ? std::string_view() : state.chosen,
            by_rules ? std::string("algorithm by fixed rules")
                     : cat(state.chosen, ": ", state.reason)};
  }
  Prediction best{.seconds = 0, .algorithm = {}, .reason = "algorithm by trials"};
  for (const std::string_view name :
       move::algorithm_candidates(of.kind, context_, question.dtype, bytes)) {
    best.seconds = best.seconds == 0 ? seconds(name) : std::min(best.seconds, seconds(name));
  }
  return best;
}

int Selector::remembered(const Choice& choice) const {
  return number_of_algorithm(
      parts_.remembered->find(layout_, parts_.host != nullptr, choice.of));
}

// What a meeting took is taken off only in the end, the least of all from the least of each: a run
// whose meetings were slower than its trial would look as if it had taken no time.
void Selector::note_run(State& state, const Choice& choice, const TrialResult& result) const {
  Tried& tried = state.candidates[state.next];
  UNISONO_CHECK(tried.algorithm == choice.algorithm);
  const bool first = std::all_of(state.candidates.begin(), state.candidates.end(),
                                 [](const Tried& each) { return each.runs == 0; });
  state.meeting_s = first ? result.meeting_s : std::min(state.meeting_s, result.meeting_s);
  // Brought to the size of the first bucket, as predictions are: sizes of a class may differ by a
  // factor of two, and no candidate may look good for having had the smaller ones.
  const double meeting_s = std::min(state.meeting_s, result.seconds);
  const double met_s = meeting_s + (result.seconds - meeting_s) *
                                       predicted(choice.of, tried.algorithm, state.bytes) /
                                       predicted(choice.of, tried.algorithm, choice.bytes);
  tried.met_s = tried.runs == 0 ? met_s : std::min(tried.met_s, met_s);
  ++tried.runs;
  state.next = (state.next + 1) % state.candidates.size();
  for (Tried& each : state.candidates) {
    // Something is left of a bucket that took less than its meeting.
    each.measured_s = std::max(each.met_s - state.meeting_s, each.met_s / 8);
  }
}

void Selector::learn(const Choice& choice, const TrialResult& result) {
  note_meeting(result.meeting_s);
  const auto it =
      choice.opens
          ? states_
                .emplace(choice.of, open(choice.of, {opening_, choice.bytes, choice.of.encoded,
                                                     choice.of.kind}))
                .first
          : states_.find(choice.of);
  UNISONO_CHECK(it != states_.end());
  State& state = it->second;
  if (state.frozen) return explain(choice.of, state);  // with steps as they are, one is left
  if (!choice.opens && std::isfinite(result.seconds)) note_run(state, choice, result);
  const std::string_view known = algorithm_numbered(result.remembered);
  const bool over =
      std::all_of(state.candidates.begin(), state.candidates.end(),
                  [&](const Tried& each) { return each.runs >= runs_each(choice.of); });
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
                       state.candidates.size() * static_cast<std::size_t>(runs_each(choice.of)),
                       " runs");
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
                     : cat("the fastest of ", state.candidates.size(), " in ", runs_each(of),
                           " runs each",
                           fastest == state.candidates.begin() ? ", as predicted" : "");
  // Later classes build on what these took; what was corrected already is corrected further.
  for (const Tried& each : state.candidates) {
    corrections_[of.kind].note(each.algorithm, of.power,
                               predicted(of, each.algorithm, state.bytes), each.measured_s);
  }
  parts_.remembered->keep(layout_, parts_.host != nullptr, of, state.chosen);
}

void Selector::explain(const SizeClass& of, const State& state) const {
  if (parts_.explanations == nullptr) return;
  AlgorithmChoice choice{.collective = std::string(name_of(of.kind)),
                         .set = parts_.set,
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
                         .bytes = state.bytes,
                         .candidates = {},
                         .others = {}};
  for (const Tried& each : state.candidates) {
    choice.candidates.push_back({std::string(each.algorithm), each.predicted_s * 1e6,
                                 each.measured_s * 1e6, each.runs});
  }
  for (const Tried& each : state.others) {
    choice.others.push_back({std::string(each.algorithm), each.predicted_s * 1e6, 0, 0});
  }
  parts_.explanations->set(of, std::move(choice));
}

}  // namespace unisono::run
