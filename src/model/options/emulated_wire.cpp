// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/options/emulated_wire.hpp"

#include "model/options/option_values.hpp"

namespace unisono {
namespace {

constexpr double kLongest_s = 60;

struct TimeUnit {
  std::string_view suffix;
  double seconds;
};
// Those that end in "s" like others come before it.
constexpr TimeUnit kTimeUnits[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1}, {"", 1}};

std::optional<double> parse_time(std::string_view text) {
  for (const TimeUnit& unit : kTimeUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto number = parse_number(text.substr(0, text.size() - unit.suffix.size()));
    if (!number || *number < 0 || *number * unit.seconds > kLongest_s) return std::nullopt;
    return *number * unit.seconds;
  }
  return std::nullopt;
}

}  // namespace

std::optional<EmulatedWire> parse_emulated_wire(std::string_view text) {
  EmulatedWire wire;
  if (text == "off") return wire;
  bool has_alpha = false, has_beta = false;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = trim(text.substr(0, comma));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = trim(word.substr(0, equals));
    const auto time = parse_time(trim(word.substr(equals + 1)));
    bool& seen = name == "alpha" ? has_alpha : has_beta;
    if (!time || seen || (name != "alpha" && name != "beta")) return std::nullopt;
    seen = true;
    (name == "alpha" ? wire.alpha_s : wire.beta_s) = *time;
    if (comma == std::string_view::npos) return wire;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace unisono
