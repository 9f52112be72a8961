// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo_learn.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"

namespace unisono {

bool Lesson::merge(const Lesson& other) {
  if (attempt != other.attempt || digest != other.digest) return false;
  if (ended_before.size() != other.ended_before.size()) return false;
  for (std::size_t i = 0; i < ended_before.size(); ++i) {
    auto& mine = ended_before[i];
    const auto& theirs = other.ended_before[i];
    if (mine.size() != theirs.size()) return false;
    for (std::size_t u = 0; u < mine.size(); ++u) mine[u] = std::max(mine[u], theirs[u]);
  }
  return true;
}

void Lesson::encode(ByteWriter& out) const {
  out.put(attempt);
  out.put(digest);
  out.put(static_cast<std::uint32_t>(ended_before.size()));
  for (const auto& iteration : ended_before) out.put_list(iteration);
}

Lesson Lesson::decode(ByteReader& in) {
  Lesson lesson;
  lesson.attempt = in.get<std::uint64_t>();
  lesson.digest = in.get<std::uint64_t>();
  const auto iterations = in.get<std::uint32_t>();
  if (!in.can_hold(iterations, sizeof(std::uint32_t))) return lesson;
  for (std::uint32_t i = 0; i < iterations && in.ok(); ++i) {
    lesson.ended_before.push_back(in.get_list<std::uint32_t>());
  }
  return lesson;
}

void TopoLearn::restart() {
  current_ = {};
  first_ = {};
  rows_.clear();
  equal_ = 0;
}

void TopoLearn::submitted(const Request& request) {
  submitted_at_[hash_text(request.name)] = ended_;
}

// A group counts as submitted with its last tensor.
std::uint32_t TopoLearn::ended_before(const Response& response) {
  std::uint64_t first_open = 0;
  for (const Request& tensor : response.tensors) {
    const auto it = submitted_at_.find(hash_text(tensor.name));
    if (it == submitted_at_.end()) continue;
    first_open = std::max(first_open, it->second);
    submitted_at_.erase(it);
  }
  const auto& sequences = current_.sequences;
  return static_cast<std::uint32_t>(
      std::lower_bound(sequences.begin(), sequences.end(), first_open) - sequences.begin());
}

int TopoLearn::answered(const Response& response) {
  const bool fits = response.error.ok() && response.absent.empty() &&
                    plannable(response.tensors) && current_.names.size() < kTopoUnitsMost;
  if (!fits) {
    for (const Request& tensor : response.tensors) submitted_at_.erase(hash_text(tensor.name));
    if (current_.names.size() >= kTopoUnitsMost) current_ = {};
    current_.pure = false;
    return 0;
  }
  const auto first = std::min_element(
      response.tensors.begin(), response.tensors.end(),
      [](const Request& a, const Request& b) { return a.name < b.name; });
  const std::uint64_t name = hash_text(first->name);
  // A sum, since the tensors of a group come in any order.
  std::uint64_t signature = 0;
  for (const Request& tensor : response.tensors) {
    signature += signature_of(tensor) ^ hash_text(tensor.name, 1);
  }
  const int closed = current_.place.contains(name) ? close() : 0;
  current_.ended_before.push_back(ended_before(response));
  current_.place.emplace(name, static_cast<std::uint32_t>(current_.names.size()));
  current_.names.push_back(name);
  current_.signatures.push_back(signature);
  current_.sequences.push_back(response.sequence);
  if (keeps_requests_) {
    TopoUnit& unit = current_.units.emplace_back(response.tensors);
    std::sort(unit.begin(), unit.end(),
              [](const Request& a, const Request& b) { return a.name < b.name; });
  }
  return closed;
}

bool TopoLearn::repeats_first() const {
  if (equal_ == 0 || first_.names.size() != current_.names.size()) return false;
  for (std::size_t i = 0; i < current_.names.size(); ++i) {
    const auto it = first_.place.find(current_.names[i]);
    if (it == first_.place.end() || first_.signatures[it->second] != current_.signatures[i]) {
      return false;
    }
  }
  return true;
}

int TopoLearn::close() {
  const bool repeated = current_.pure && repeats_first();
  Iteration done = std::exchange(current_, {});
  if (!repeated) {
    rows_.clear();
    first_ = std::move(done);
    equal_ = 0;
    if (!first_.pure) return 0;
  }
  const Iteration& seen = repeated ? done : first_;
  const std::size_t units = seen.names.size();
  Row row{std::vector<std::uint32_t>(units), std::vector<std::uint32_t>(units)};
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint32_t unit = first_.place.find(seen.names[i])->second;
    row.places[unit] = static_cast<std::uint32_t>(i);
    row.ended_before[unit] = seen.ended_before[i];
  }
  rows_.push_back(std::move(row));
  if (rows_.size() > kept_) rows_.pop_front();
  return ++equal_;
}

std::vector<std::vector<std::uint32_t>> TopoLearn::places() const {
  std::vector<std::vector<std::uint32_t>> places;
  for (const Row& row : rows_) places.push_back(row.places);
  return places;
}

Lesson TopoLearn::lesson(std::uint64_t attempt) const {
  Lesson lesson;
  lesson.attempt = attempt;
  lesson.digest = hash_bytes(std::as_bytes(std::span(first_.names)));
  lesson.digest = hash_bytes(std::as_bytes(std::span(first_.signatures)), lesson.digest);
  for (const Row& row : rows_) {
    lesson.digest = hash_bytes(std::as_bytes(std::span(row.places)), lesson.digest);
    lesson.ended_before.push_back(row.ended_before);
  }
  return lesson;
}

}  // namespace unisono
