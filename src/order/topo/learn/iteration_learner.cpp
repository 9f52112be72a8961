// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/iteration_learner.hpp"

#include <algorithm>
#include <utility>

#include "base/data/hash.hpp"
#include "base/data/text.hpp"

namespace unisono::order {
namespace {

using Runs = std::vector<std::uint32_t>;

constexpr std::uint32_t kUnseen = UINT32_MAX;

std::string why_unplannable(const Response& response) {
  if (!response.error.ok()) return cat("'", response.error.culprit().tensor, "' failed");
  if (!response.absent.empty()) return "a rank has joined";
  if (response.tensors.empty()) return "an operation without tensors is not planned";
  const Request& first = response.tensors.front();
  if (!plannable(response.tensors)) {
    return cat("'", first.name, "', ", response.tensors.size() > 1 ? "a group of " : "",
               name_of(first.kind), " of ", name_of(first.dtype), ", is not planned");
  }
  return cat("more than ", kTopoUnitsMax, " operations without one that repeats");
}

}  // namespace

bool IterationLearner::Iteration::holds(std::uint64_t name) const {
  if (known == nullptr) return own.find(name) != IterationUnits::kNone;
  const std::uint32_t unit = known->find(name);
  return unit != IterationUnits::kNone && position_of[unit] != kNowhere;
}

void IterationLearner::Iteration::make_own() {
  if (known == nullptr) return;
  for (const std::uint16_t unit : unit_of) own.add(known->name(unit), known->signature(unit));
  known.reset();
  unit_of.clear();
  position_of.clear();
}

void IterationLearner::restart() {
  current_ = {};
  patterns_.assign(1, {});
  last_ = 0;
  odd_.clear();
}

void IterationLearner::forget(const TopoPlan& plan) {
  const auto shares = [&](const auto& holds) {
    for (std::size_t b = 0; b < plan.size(); ++b) {
      for (const Request& request : plan.bucket(b)) {
        if (holds(name_hash(request))) return true;
      }
    }
    return false;
  };
  for (Pattern& pattern : patterns_) {
    if (pattern.units == nullptr) continue;
    const auto holds = [&](std::uint64_t name) {
      return pattern.units->find(name) != IterationUnits::kNone;
    };
    if (shares(holds)) pattern = {};
  }
  if (shares([&](std::uint64_t name) { return current_.holds(name); })) current_ = {};
}

std::uint64_t IterationLearner::name_hash(const Request& request) {
  return hash_text(request.name);
}

// What belongs to an iteration that was closed before says nothing about this one.
void IterationLearner::observed(std::uint64_t sequence) {
  const auto& sequences = current_.sequences;
  const auto it = std::lower_bound(sequences.begin(), sequences.end(), sequence);
  if (it == sequences.end() || *it != sequence) return;
  std::uint32_t& seen_at = current_.seen_at[static_cast<std::size_t>(it - sequences.begin())];
  if (seen_at == kUnseen) seen_at = static_cast<std::uint32_t>(seen_++ - current_.begun_at);
}

// When the response's tensors were submitted; a group counts from its last tensor.
SubmittedMoments::Moment IterationLearner::take_submitted(const Response& response) {
  SubmittedMoments::Moment last;
  for (const Request& tensor : response.tensors) {
    const auto submitted = submitted_at_.take(name_hash(tensor));
    if (!submitted) continue;
    last.number = std::max(last.number, submitted->number);
    last.at = std::max(last.at, submitted->at);
  }
  return last;
}

// Whether a tensor of the response is in the iteration under way, by itself or in a group.
bool IterationLearner::has_some_of(const Response& response) const {
  return std::any_of(response.tensors.begin(), response.tensors.end(), [&](const Request& tensor) {
    const std::uint64_t name = name_hash(tensor);
    return current_.holds(name) ||
           (!current_.further.empty() && current_.further.contains(name));
  });
}

std::string IterationLearner::why_odd(const Request& first, std::uint64_t name,
                                      std::uint64_t signature) const {
  if (last().equal == 0) return {};
  const std::uint32_t known = last().units->find(name);
  if (known == IterationUnits::kNone) {
    return cat("'", first.name, "' was not in the iteration before");
  }
  if (last().units->signature(known) == signature) return {};
  return cat("'", first.name, "' is not what it was in the iteration before",
             traits_of(first.kind).free_rows ? ", or has other rows" : "");
}

int IterationLearner::answered(const Response& response) {
  const bool fits = response.error.ok() && response.absent.empty() &&
                    plannable(response.tensors) && current_.size() < kTopoUnitsMax;
  if (!fits) {
    unwatched(response);
    if (current_.size() >= kTopoUnitsMax) current_ = {};
    current_.pure = false;
    if (current_.odd.empty()) current_.odd = why_unplannable(response);
    return 0;
  }
  const auto first = std::min_element(
      response.tensors.begin(), response.tensors.end(),
      [](const Request& a, const Request& b) { return a.name < b.name; });
  const std::uint64_t name = hash_text(first->name);
  // A sum, since the tensors of a group come in any order.
  std::uint64_t signature = 0;
  for (std::size_t i = 0; i < response.tensors.size(); ++i) {
    const Request& tensor = response.tensors[i];
    signature += signature_of(tensor, rows_of(response, i)) ^ hash_text(tensor.name, 1);
  }
  const int closed = has_some_of(response) ? close() : 0;
  if (current_.odd.empty()) current_.odd = why_odd(*first, name, signature);
  add(name, signature);
  const SubmittedMoments::Moment submitted = take_submitted(response);
  // What was submitted before this iteration began has seen nothing of it.
  const std::uint64_t moment = std::max(submitted.number, current_.begun_at) - current_.begun_at;
  current_.seen_at.push_back(kUnseen);
  current_.submitted_at.push_back(static_cast<std::uint32_t>(moment));
  current_.ready_at.push_back(submitted.at);
  for (const Request& tensor : response.tensors) {
    if (&tensor != &*first) current_.further.insert(name_hash(tensor));
  }
  current_.sequences.push_back(response.sequence);
  if (keeps_requests_) {
    const auto rows = rows_of(response, 0);
    if (!rows.empty()) current_.extents[first->name].assign(rows.begin(), rows.end());
    TopoUnit& unit = current_.requests.emplace_back(response.tensors);
    std::sort(unit.begin(), unit.end(),
              [](const Request& a, const Request& b) { return a.name < b.name; });
  }
  return closed;
}

// One more unit of the iteration under way, which has none of that name.
void IterationLearner::add(std::uint64_t name, std::uint64_t signature) {
  const auto is_there = [&](const IterationUnits& units) {
    const std::uint32_t unit = units.find(name);
    return unit != IterationUnits::kNone && units.signature(unit) == signature;
  };
  if (current_.size() == 0) {
    current_.begun_at = seen_;
    for (const Pattern& pattern : patterns_) {
      if (pattern.equal == 0 || !is_there(*pattern.units)) continue;
      const std::size_t units = pattern.units->size();
      current_.known = pattern.units;
      current_.position_of.assign(units, kNowhere);
      current_.unit_of.reserve(units);
      current_.seen_at.reserve(units);
      current_.submitted_at.reserve(units);
      current_.ready_at.reserve(units);
      current_.sequences.reserve(units);
      break;
    }
  }
  if (current_.known != nullptr && !is_there(*current_.known)) current_.make_own();
  if (current_.known == nullptr) return current_.own.add(name, signature);
  const std::uint32_t unit = current_.known->find(name);
  current_.position_of[unit] = static_cast<std::uint16_t>(current_.size());
  current_.unit_of.push_back(static_cast<std::uint16_t>(unit));
}

bool IterationLearner::repeats(const IterationUnits& first, const IterationUnits& again) {
  if (first.size() != again.size()) return false;
  for (std::size_t i = 0; i < again.size(); ++i) {
    const std::uint32_t unit = first.find(again.name(i));
    if (unit == IterationUnits::kNone || first.signature(unit) != again.signature(i)) return false;
  }
  return true;
}

// Among those remembered, or else in place of the one that did not come for longest.
IterationLearner::Pattern& IterationLearner::pattern_of(Iteration& done) {
  if (done.repeats_all()) {
    for (Pattern& pattern : patterns_) {
      if (pattern.equal > 0 && pattern.units == done.known) return pattern;
    }
  }
  done.make_own();
  for (Pattern& pattern : patterns_) {
    if (pattern.equal > 0 && repeats(*pattern.units, done.own)) return pattern;
  }
  const bool full = std::all_of(patterns_.begin(), patterns_.end(),
                                [](const Pattern& pattern) { return pattern.equal > 0; });
  if (full && patterns_.size() < kPatternsMax) patterns_.emplace_back();
  Pattern& oldest = *std::min_element(
      patterns_.begin(), patterns_.end(), [](const Pattern& a, const Pattern& b) {
        return a.equal == 0 || b.equal == 0 ? a.equal < b.equal : a.closed_at < b.closed_at;
      });
  oldest = {};
  oldest.units = pool_ != nullptr
                     ? pool_->share(done.own)
                     : std::make_shared<const IterationUnits>(done.own);
  oldest.requests = std::move(done.requests);
  oldest.extents = std::move(done.extents);
  return oldest;
}

IterationLearner::Row IterationLearner::row_of(const Iteration& done,
                                               const IterationUnits& units) const {
  const std::size_t count = units.size();
  Row row{std::vector<std::uint16_t>(count), {}, {}, std::vector<std::uint64_t>(count),
          *std::min_element(done.seen_at.begin(), done.seen_at.end())};
  const bool all_free =
      row.first_seen_at >= *std::max_element(done.submitted_at.begin(), done.submitted_at.end());
  if (!all_free) {
    row.seen_at.resize(count);
    row.submitted_at.resize(count);
  }
  const Time begin = *std::min_element(done.ready_at.begin(), done.ready_at.end());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t unit =
        done.known != nullptr ? done.unit_of[i] : units.find(done.own.name(i));
    row.positions[unit] = static_cast<std::uint16_t>(i);
    row.ready_ns[unit] = static_cast<std::uint64_t>((done.ready_at[i] - begin).count());
    if (all_free) continue;
    row.seen_at[unit] = done.seen_at[i];
    row.submitted_at[unit] = done.submitted_at[i];
  }
  return row;
}

int IterationLearner::close() {
  Iteration done = std::exchange(current_, {});
  odd_ = done.odd;
  if (!done.pure) return 0;
  const bool had = last().equal > 0;
  const std::size_t before = had ? last().units->size() : 0;
  Pattern& pattern = pattern_of(done);
  last_ = static_cast<std::size_t>(&pattern - patterns_.data());
  pattern.closed_at = ++closed_;
  if (pattern.equal == 0 && had && odd_.empty()) {
    odd_ = cat("the last iteration had ", done.size(), " operations and the one before ", before);
  }
  pattern.rows.push_back(row_of(done, *pattern.units));
  if (pattern.rows.size() > kept_) pattern.rows.pop_front();
  return ++pattern.equal;
}

std::vector<std::vector<std::uint32_t>> IterationLearner::positions() const {
  std::vector<std::vector<std::uint32_t>> positions;
  for (const Row& row : last().rows) {
    positions.emplace_back(row.positions.begin(), row.positions.end());
  }
  return positions;
}

// An edge has to show in every iteration, so one that came from chance drops out.
std::vector<std::uint32_t> IterationLearner::needs(std::size_t unit) const {
  Runs runs;
  const bool free = std::any_of(last().rows.begin(), last().rows.end(),
                                [&](const Row& row) { return row.free(unit); });
  if (free) return runs;
  for (std::uint32_t other = 0; other < last().units->size(); ++other) {
    const bool always = std::all_of(last().rows.begin(), last().rows.end(), [&](const Row& row) {
      return row.seen_at[other] < row.submitted_at[unit];
    });
    if (!always) continue;
    if (!runs.empty() && runs.back() == other) {
      ++runs.back();
    } else {
      runs.insert(runs.end(), {other, other + 1});
    }
  }
  return runs;
}

std::string IterationLearner::why_not(int wanted) const {
  const std::string seen = cat(std::min(last().equal, wanted), " of ", wanted, " equal iterations seen");
  const std::string& odd = current_.pure ? odd_ : current_.odd;
  return odd.empty() ? seen : cat(seen, "; ", odd);
}

std::uint64_t IterationLearner::median_ready_ns(std::size_t unit) const {
  std::vector<std::uint64_t> ready;
  for (const Row& row : last().rows) ready.push_back(row.ready_ns[unit]);
  const auto middle = ready.begin() + static_cast<std::ptrdiff_t>(ready.size() / 2);
  std::nth_element(ready.begin(), middle, ready.end());
  return std::min(*middle, kReadyMax);
}

Lesson IterationLearner::lesson(std::uint64_t attempt) const {
  Lesson lesson;
  lesson.attempt = attempt;
  lesson.digest = hash_bytes(std::as_bytes(std::span(last().units->names())));
  lesson.digest = hash_bytes(std::as_bytes(std::span(last().units->signatures())), lesson.digest);
  for (const auto& positions : positions()) {
    lesson.digest = hash_bytes(std::as_bytes(std::span(positions)), lesson.digest);
  }
  for (std::size_t unit = 0; unit < last().units->size(); ++unit) {
    lesson.needs.push_back(needs(unit));
    lesson.ready_ns.push_back(median_ready_ns(unit));
  }
  lesson.shorten();
  return lesson;
}

}  // namespace unisono::order
