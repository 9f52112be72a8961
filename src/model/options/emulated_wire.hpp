// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the option emulate says, as a value: a network that is slower than the one that is there.
// A bucket that has been moved ends that much later. Pure; any thread.
//
//   off | alpha=0.5ms | alpha=500us,beta=8ns
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace unisono {

struct EmulatedWire {
  double alpha_s = 0;                       // for each collective
  double beta_s = 0;                        // for each byte of what is reduced or gathered

  bool off() const { return alpha_s == 0 && beta_s == 0; }
  double seconds(std::size_t bytes) const { return alpha_s + beta_s * static_cast<double>(bytes); }
};

// Times are from 0 to a minute, in seconds or with s, ms, us or ns behind them. Returns nothing for
// other words, and for a name that comes twice.
std::optional<EmulatedWire> parse_emulated_wire(std::string_view text);

}  // namespace unisono
