// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What all members see alike of an iteration: its units, in the order of their answers. A unit is
// known by a hash of its first name and by a signature of everything else.
//
// Immutable once an iteration is closed. Members of one process may share it through a pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace unisono::order {

class IterationUnits {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::size_t size() const { return names_.size(); }
  std::uint64_t name(std::size_t unit) const { return names_[unit]; }
  std::uint64_t signature(std::size_t unit) const { return signatures_[unit]; }
  const std::vector<std::uint64_t>& names() const { return names_; }
  const std::vector<std::uint64_t>& signatures() const { return signatures_; }
  // The unit of that name, or kNone.
  std::uint32_t find(std::uint64_t name) const;
  // The name is not there yet.
  void add(std::uint64_t name, std::uint64_t signature);
  friend bool operator==(const IterationUnits& a, const IterationUnits& b) {
    return a.names_ == b.names_ && a.signatures_ == b.signatures_;
  }

 private:
  void put(std::uint32_t unit);

  std::vector<std::uint64_t> names_, signatures_;
  std::vector<std::uint32_t> cells_;    // units by name; a power of two, at most half of them full
};

// Lets members of one process share equal ones. Thread: any.
class IterationUnitsPool {
 public:
  std::shared_ptr<const IterationUnits> share(IterationUnits units);

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<const IterationUnits>> known_;
};

}  // namespace unisono::order
