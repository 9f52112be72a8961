// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Options as text: a file, the environment, and the values with a small language of their own.
#include "model/options/cpu_request.hpp"
#include "model/options/option_sources.hpp"
#include "target.hpp"
#include "unisono/options.hpp"

namespace unisono::fuzz {

void take_apart(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  Options options;
  static_cast<void>(apply_option_text(options, text, "a file"));
  // Whatever was accepted can be written down and read again.
  Options again;
  for (const OptionRow& row : option_table()) {
    const std::string value = options.get(row.key);
    must(again.set(row.key, value).ok(), "an option has a value that cannot be set");
  }
  must(again.agreed_text() == options.agreed_text(), "an option changes when it is written down");
  static_cast<void>(options.validate());

  if (const auto cpus = parse_cpu_list(text)) {
    const auto second = parse_cpu_list(cpu_list_text(*cpus));
    must(second && *second == *cpus, "a list of CPUs changes when it is written down");
  }
  static_cast<void>(parse_cpu_request(text));
  static_cast<void>(Options::from_lookup(
      [&](const std::string& name) -> std::optional<std::string> {
        if (name == "UNISONO_CONFIG" || name.size() % 3 != 0) return std::nullopt;
        return std::string(text.substr(0, 64));
      }));
}

std::vector<Bytes> seeds() {
  std::string all;
  for (const OptionRow& row : option_table()) {
    all += std::string(row.key) + " = " + Options{}.get(row.key) + "\n";
  }
  return {bytes_of(all), bytes_of("# comment\nfusion_bytes = 64M\ncycle_ms=2.5\n"),
          bytes_of("cpu_sets = engine=0-1;input=2-3;compute=4-15\n"), bytes_of("0-3,8"),
          bytes_of("spin_us = auto\ndeterministic = yes\n")};
}

}  // namespace unisono::fuzz
