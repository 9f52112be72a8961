// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Buckets for which one algorithm is chosen together, and what was chosen for such before.
// Thread: the engine's driver.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>

#include "cost/layout.hpp"
#include "unisono/types.hpp"

namespace unisono::run {

struct SizeClass {
  Collective kind = Collective::allreduce;
  int power = 0;                            // sizes from 2^(power-1) up to 2^power - 1
  DType dtype = DType::f32;                 // of 16- and 8-bit floats that are reduced; else f32
  bool encoded = false;                     // by a codec that changes elements

  std::size_t middle() const { return (std::size_t{3} << power) / 4; }
  static int power_of(std::size_t bytes) { return static_cast<int>(std::bit_width(bytes)); }
  friend auto operator<=>(const SizeClass&, const SizeClass&) = default;
};

// What was decided for members of a layout: another set of the same layout need not try again. The
// members of that set must all remember the same, which they find out in its first trial, since
// engines come to their decisions at different times.
class RememberedChoices {
 public:
  std::string_view find(const cost::Layout& layout, bool host_team, const SizeClass& of) const {
    const auto it = choices_.find({layout, host_team, of});
    return it == choices_.end() ? std::string_view() : it->second;
  }
  void keep(const cost::Layout& layout, bool host_team, const SizeClass& of,
            std::string_view algorithm) {
    choices_[{layout, host_team, of}] = algorithm;
  }

 private:
  std::map<std::tuple<cost::Layout, bool, SizeClass>, std::string_view> choices_;
};

}  // namespace unisono::run
