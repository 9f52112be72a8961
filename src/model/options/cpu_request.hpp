// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the option cpu_sets says, as a value. The option table uses it to check the text, src/place
// to plan. Pure; any thread.
//
//   off | 0.25 | engine=0-1;input=2-3;compute=4-15
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unisono {

struct CpuRequest {
  double fraction = 0;  // of a rank's cores, for engine and input; 0: no fraction
  std::vector<int> engine, input, compute;  // disjoint; all empty unless the text listed CPUs

  bool off() const { return fraction == 0 && engine.empty(); }
};

// Returns nothing when the text is none of the three forms, the fraction is not between 0 and 1,
// lists overlap, or engine or compute is left without a CPU.
std::optional<CpuRequest> parse_cpu_request(std::string_view text);

// "0-3,8" as the kernel writes it, ascending and without repetition; "" is the empty list.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
std::string cpu_list_text(std::span<const int> cpus);

}  // namespace unisono
