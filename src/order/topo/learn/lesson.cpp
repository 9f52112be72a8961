// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/learn/lesson.hpp"

#include <algorithm>
#include <functional>

namespace unisono::order {
namespace {

using Runs = std::vector<std::uint32_t>;

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
  lesson.needs.reserve(units);
  for (std::uint32_t unit = 0; unit < units && in.ok(); ++unit) {
    lesson.needs.push_back(in.get_list<std::uint32_t>());
    if (!well_formed(lesson.needs.back(), units)) in.fail();
  }
  lesson.ready_ns = in.get_list<std::uint64_t>();
  if (lesson.ready_ns.size() != units) in.fail();
  for (std::uint64_t& ready : lesson.ready_ns) ready = std::min(ready, kReadyMax);
  return lesson;
}

}  // namespace unisono::order
