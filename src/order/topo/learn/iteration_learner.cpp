// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/iteration_learner.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/data/hash.hpp"
#include "base/data/text.hpp"

namespace unisono::order {
namespace {

using Runs = std::vector<std::uint32_t>;

constexpr std::uint64_t kUnseen = UINT64_MAX;
// A day: what is later in an iteration is not worth planning for, and sums stay far from overflow.
constexpr std::uint64_t kReadyMax = 86'400'000'000'000;
// Max bounds in all runs of a lesson: 1 MiB of them.
constexpr std::size_t kBoundsMax = std::size_t{1} << 18;

bool well_formed(const Runs& runs, std::uint32_t units) {
  return runs.size() % 2 == 0 && (runs.empty() || runs.back() <= units) &&
         std::adjacent_find(runs.begin(), runs.end(), std::greater_equal<>()) == runs.end();
}

// A unit is in the union when it is in a run of one or of both.
Runs unite(const Runs& a, const Runs& b) {
  if (a.empty() || a == b) return b;
  if (b.empty()) return a;
  Runs out;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool from_a = j == b.size() || (i < a.size() && a[i] <= b[j]);
    const Runs& runs = from_a ? a : b;
    std::size_t& at = from_a ? i : j;
    if (out.empty() || runs[at] > out.back()) {
      out.push_back(runs[at]);
      out.push_back(runs[at + 1]);
    } else {
      out.back() = std::max(out.back(), runs[at + 1]);
    }
    at += 2;
  }
  return out;
}

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

bool Lesson::merge(const Lesson& other) {
  if (attempt != other.attempt || digest != other.digest) return false;
  if (needs.size() != other.needs.size() || ready_ns.size() != other.ready_ns.size()) return false;
  for (std::size_t unit = 0; unit < ready_ns.size(); ++unit) {
    ready_ns[unit] = std::max(ready_ns[unit], other.ready_ns[unit]);
  }
  for (std::size_t unit = 0; unit < needs.size(); ++unit) {
    needs[unit] = unite(needs[unit], other.needs[unit]);
  }
  shorten();
  return true;
}

bool Lesson::edge(std::size_t from, std::size_t to) const {
  const Runs& runs = needs[to];
  const auto after = std::upper_bound(runs.begin(), runs.end(), from);
  return (after - runs.begin()) % 2 == 1;  // after a begin and before its end
}

void Lesson::shorten() {
  std::size_t bounds = 0;
  for (const Runs& runs : needs) bounds += runs.size();
  if (bounds <= kBoundsMax) return;
  for (Runs& runs : needs) {
    if (!runs.empty()) runs = {runs.front(), runs.back()};
  }
}

void Lesson::encode(ByteWriter& out) const {
  out.put(attempt);
  out.put(digest);
  out.put(static_cast<std::uint32_t>(needs.size()));
  for (const Runs& runs : needs) out.put_list(runs);
  out.put_list(ready_ns);
}

Lesson Lesson::decode(ByteReader& in) {
  Lesson lesson;
  lesson.attempt = in.get<std::uint64_t>();
  lesson.digest = in.get<std::uint64_t>();
  const auto units = in.get<std::uint32_t>();
  if (!in.can_hold(units, sizeof(std::uint32_t))) return lesson;
  for (std::uint32_t unit = 0; unit < units && in.ok(); ++unit) {
    lesson.needs.push_back(in.get_list<std::uint32_t>());
    if (!well_formed(lesson.needs.back(), units)) in.fail();
  }
  lesson.ready_ns = in.get_list<std::uint64_t>();
  if (lesson.ready_ns.size() != units) in.fail();
  for (std::uint64_t& ready : lesson.ready_ns) ready = std::min(ready, kReadyMax);
  return lesson;
}

void IterationLearner::restart() {
  current_ = {};
  patterns_.assign(1, {});
  last_ = 0;
  odd_.clear();
}

void IterationLearner::forget(const TopoPlan& plan) {
  std::unordered_set<std::uint64_t> names;
  for (std::size_t b = 0; b < plan.size(); ++b) {
    for (const Request& request : plan.bucket(b)) names.insert(name_hash(request));
  }
  const auto shares = [&](const Iteration& iteration) {
    return std::any_of(iteration.names.begin(), iteration.names.end(),
                       [&](std::uint64_t name) { return names.contains(name); });
  };
  for (Pattern& pattern : patterns_) {
    if (shares(pattern.first)) pattern = {};
  }
  if (shares(current_)) current_ = {};
}

std::uint64_t IterationLearner::name_hash(const Request& request) {
  return hash_text(request.name);
}

// What belongs to an iteration that was closed before says nothing about this one.
void IterationLearner::observed(std::uint64_t sequence) {
  const auto& sequences = current_.sequences;
  const auto it = std::lower_bound(sequences.begin(), sequences.end(), sequence);
  if (it == sequences.end() || *it != sequence) return;
  std::uint64_t& seen_at = current_.seen_at[static_cast<std::size_t>(it - sequences.begin())];
  if (seen_at == kUnseen) seen_at = seen_++;
}

// When the response's tensors were submitted; a group counts from its last tensor.
IterationLearner::Submitted IterationLearner::take_submitted(const Response& response) {
  Submitted last;
  for (const Request& tensor : response.tensors) {
    const auto it = submitted_at_.find(name_hash(tensor));
    if (it == submitted_at_.end()) continue;
    last.moment = std::max(last.moment, it->second.moment);
    last.at = std::max(last.at, it->second.at);
    submitted_at_.erase(it);
  }
  return last;
}

// Whether a tensor of the response is in the iteration under way, by itself or in a group.
bool IterationLearner::has_some_of(const Response& response) const {
  return std::any_of(response.tensors.begin(), response.tensors.end(), [&](const Request& tensor) {
    const std::uint64_t name = name_hash(tensor);
    return current_.place.contains(name) ||
           (!current_.further.empty() && current_.further.contains(name));
  });
}

int IterationLearner::answered(const Response& response) {
  const bool fits = response.error.ok() && response.absent.empty() &&
                    plannable(response.tensors) && current_.names.size() < kTopoUnitsMax;
  if (!fits) {
    unwatched(response);
    if (current_.names.size() >= kTopoUnitsMax) current_ = {};
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
  if (current_.odd.empty() && last().equal > 0) {
    const Iteration& before = last().first;
    const auto known = before.place.find(name);
    if (known == before.place.end()) {
      current_.odd = cat("'", first->name, "' was not in the iteration before");
    } else if (before.signatures[known->second] != signature) {
      current_.odd = cat("'", first->name, "' is not what it was in the iteration before",
                         traits_of(first->kind).free_rows ? ", or has other rows" : "");
    }
  }
  current_.seen_at.push_back(kUnseen);
  const Submitted submitted = take_submitted(response);
  current_.submitted_at.push_back(submitted.moment);
  current_.ready_at.push_back(submitted.at);
  current_.place.emplace(name, static_cast<std::uint32_t>(current_.names.size()));
  for (const Request& tensor : response.tensors) {
    if (&tensor != &*first) current_.further.insert(name_hash(tensor));
  }
  current_.names.push_back(name);
  current_.signatures.push_back(signature);
  current_.sequences.push_back(response.sequence);
  if (keeps_requests_) {
    const auto rows = rows_of(response, 0);
    if (!rows.empty()) current_.rows[first->name].assign(rows.begin(), rows.end());
    TopoUnit& unit = current_.units.emplace_back(response.tensors);
    std::sort(unit.begin(), unit.end(),
              [](const Request& a, const Request& b) { return a.name < b.name; });
  }
  return closed;
}

bool IterationLearner::repeats(const Iteration& first, const Iteration& again) {
  if (first.names.size() != again.names.size()) return false;
  for (std::size_t i = 0; i < again.names.size(); ++i) {
    const auto it = first.place.find(again.names[i]);
    if (it == first.place.end() || first.signatures[it->second] != again.signatures[i]) {
      return false;
    }
  }
  return true;
}

// Among those remembered, or else in place of the one that did not come for longest.
IterationLearner::Pattern& IterationLearner::pattern_of(Iteration& done) {
  for (Pattern& pattern : patterns_) {
    if (pattern.equal > 0 && repeats(pattern.first, done)) return pattern;
  }
  const bool full = std::all_of(patterns_.begin(), patterns_.end(),
                                [](const Pattern& pattern) { return pattern.equal > 0; });
  if (full && patterns_.size() < kPatternsMax) patterns_.emplace_back();
  Pattern& oldest = *std::min_element(
      patterns_.begin(), patterns_.end(), [](const Pattern& a, const Pattern& b) {
        return a.equal == 0 || b.equal == 0 ? a.equal < b.equal : a.closed_at < b.closed_at;
      });
  oldest = {};
  oldest.first = std::move(done);
  return oldest;
}

int IterationLearner::close() {
  Iteration done = std::exchange(current_, {});
  odd_ = done.odd;
  if (!done.pure) return 0;
  const std::size_t before = last().first.names.size();
  const bool had = last().equal > 0;
  const std::size_t units = done.names.size();
  Pattern& pattern = pattern_of(done);
  last_ = static_cast<std::size_t>(&pattern - patterns_.data());
  pattern.closed_at = ++closed_;
  if (pattern.equal == 0 && had && odd_.empty()) {
    odd_ = cat("the last iteration had ", units, " operations and the one before ", before);
  }
  // What was not moved into the pattern is one more of it.
  const Iteration& first = pattern.first;
  const Iteration& seen = pattern.equal == 0 ? first : done;
  Row row{std::vector<std::uint32_t>(units), std::vector<std::uint64_t>(units),
          std::vector<std::uint64_t>(units), std::vector<std::uint64_t>(units),
          *std::min_element(seen.seen_at.begin(), seen.seen_at.end())};
  const Time begin = *std::min_element(seen.ready_at.begin(), seen.ready_at.end());
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint32_t unit = first.place.find(seen.names[i])->second;
    row.positions[unit] = static_cast<std::uint32_t>(i);
    row.seen_at[unit] = seen.seen_at[i];
    row.submitted_at[unit] = seen.submitted_at[i];
    row.ready_ns[unit] = static_cast<std::uint64_t>((seen.ready_at[i] - begin).count());
  }
  pattern.rows.push_back(std::move(row));
  if (pattern.rows.size() > kept_) pattern.rows.pop_front();
  return ++pattern.equal;
}

std::vector<std::vector<std::uint32_t>> IterationLearner::positions() const {
  std::vector<std::vector<std::uint32_t>> positions;
  for (const Row& row : last().rows) positions.push_back(row.positions);
  return positions;
}

// An edge has to show in every iteration, so one that came from chance drops out.
std::vector<std::uint32_t> IterationLearner::needs(std::size_t unit) const {
  Runs runs;
  const bool free = std::any_of(last().rows.begin(), last().rows.end(), [&](const Row& row) {
    return row.first_seen_at >= row.submitted_at[unit];
  });
  if (free) return runs;
  for (std::uint32_t other = 0; other < last().first.names.size(); ++other) {
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
  lesson.digest = hash_bytes(std::as_bytes(std::span(last().first.names)));
  lesson.digest = hash_bytes(std::as_bytes(std::span(last().first.signatures)), lesson.digest);
  for (const Row& row : last().rows) {
    lesson.digest = hash_bytes(std::as_bytes(std::span(row.positions)), lesson.digest);
  }
  for (std::size_t unit = 0; unit < last().first.names.size(); ++unit) {
    lesson.needs.push_back(needs(unit));
    lesson.ready_ns.push_back(median_ready_ns(unit));
  }
  lesson.shorten();
  return lesson;
}

}  // namespace unisono::order
