// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Finds numbers by name. The names themselves lie with whoever uses it, who says whether the number
// that was found has the name. One table without nodes: a look touches one or two cache lines,
// which is what counts where tens of thousands of members live in one process.
// Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace unisono::order {

class NameIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // named(number): whether that is its name. Returns kNone when there is none.
  template <typename Named>
  std::uint32_t find(std::string_view name, Named named) const {
    const std::size_t at = place_of(name, named);
    return at == kNowhere ? kNone : cells_[at].number;
  }

  // The name is not there yet.
  void insert(std::string_view name, std::uint32_t number) {
    if (2 * (count_ + 1) > cells_.size()) grow();
    put({hash_of(name), number});
    ++count_;
  }

  // Returns the number that had the name, or kNone.
  template <typename Named>
  std::uint32_t erase(std::string_view name, Named named) {
    std::size_t hole = place_of(name, named);
    if (hole == kNowhere) return kNone;
    const std::uint32_t number = cells_[hole].number;
    // Those behind it move up, unless that would put them before the place where they are sought.
    for (std::size_t at = next(hole); cells_[at].number != kNone; at = next(at)) {
      const std::size_t home = cells_[at].hash & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      cells_[hole] = cells_[at];
      hole = at;
    }
    cells_[hole].number = kNone;
    --count_;
    return number;
  }

  void clear() {
    cells_.clear();
    count_ = 0;
  }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t kNowhere = SIZE_MAX;
  static constexpr std::size_t kCellsMin = 8;
  struct Cell {
    std::uint32_t hash = 0;
    std::uint32_t number = kNone;       // kNone: empty
  };

  static std::uint32_t hash_of(std::string_view name) {
    const std::size_t hash = std::hash<std::string_view>{}(name);
    return static_cast<std::uint32_t>(hash ^ (std::uint64_t{hash} >> 32));
  }
  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }

  template <typename Named>
  std::size_t place_of(std::string_view name, Named named) const {
    if (count_ == 0) return kNowhere;
    const std::uint32_t hash = hash_of(name);
    for (std::size_t at = hash & mask(); cells_[at].number != kNone; at = next(at)) {
      if (cells_[at].hash == hash && named(cells_[at].number)) return at;
    }
    return kNowhere;
  }

  void put(Cell cell) {
    std::size_t at = cell.hash & mask();
    while (cells_[at].number != kNone) at = next(at);
    cells_[at] = cell;
  }

  void grow() {
    const std::vector<Cell> old = std::move(cells_);
    cells_ = std::vector<Cell>(old.empty() ? kCellsMin : 2 * old.size());
    for (const Cell& cell : old) {
      if (cell.number != kNone) put(cell);
    }
  }

  std::vector<Cell> cells_;             // a power of two of them, at most half of them full
  std::size_t count_ = 0;
};

}  // namespace unisono::order
