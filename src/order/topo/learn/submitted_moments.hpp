// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// When what is not answered yet was submitted, by a hash of its name: one table without pointers,
// since every submission and every answer looks here.
// Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"

namespace unisono::order {

class SubmittedMoments {
 public:
  struct Moment {
    std::uint64_t number = 0;           // observations before it
    Time at{};
  };

  void put(std::uint64_t name, Moment moment) {
    if (2 * (count_ + 1) > cells_.size()) grow();
    Cell& cell = cells_[place_of(key_of(name))];
    if (cell.name == kEmpty) ++count_;
    cell = {key_of(name), moment};
  }

  // Nothing when the name is not there.
  std::optional<Moment> take(std::uint64_t name) {
    if (count_ == 0) return std::nullopt;
    std::size_t hole = place_of(key_of(name));
    if (cells_[hole].name == kEmpty) return std::nullopt;
    const Moment moment = cells_[hole].moment;
    // Those behind it move up, unless that would put them before the place where they are sought.
    for (std::size_t at = next(hole); cells_[at].name != kEmpty; at = next(at)) {
      const std::size_t home = cells_[at].name & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      cells_[hole] = cells_[at];
      hole = at;
    }
    cells_[hole].name = kEmpty;
    --count_;
    return moment;
  }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::uint64_t kEmpty = 0;
  static constexpr std::size_t kCellsMin = 8;
  struct Cell {
    std::uint64_t name = kEmpty;
    Moment moment;
  };

  static std::uint64_t key_of(std::uint64_t name) { return name == kEmpty ? 1 : name; }
  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  // Where the name is, or would be.
  std::size_t place_of(std::uint64_t name) const {
    std::size_t at = name & mask();
    while (cells_[at].name != kEmpty && cells_[at].name != name) at = next(at);
    return at;
  }
  void grow() {
    std::vector<Cell> old(cells_.empty() ? kCellsMin : 2 * cells_.size());
    cells_.swap(old);
    for (const Cell& cell : old) {
      if (cell.name != kEmpty) cells_[place_of(cell.name)] = cell;
    }
  }

  std::vector<Cell> cells_;             // a power of two of them, at most half of them full
  std::size_t count_ = 0;
};

}  // namespace unisono::order
