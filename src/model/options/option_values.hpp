// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the text of an option becomes a value, and which known word a misspelt one is close to.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unisono {

std::string_view trim(std::string_view text);
// What stands between the commas, trimmed; of nothing one empty text.
std::vector<std::string_view> split_list(std::string_view text);
// "4096", "64K", "64 MiB", "1g": suffixes are powers of 1024, case does not matter.
std::optional<std::int64_t> parse_bytes(std::string_view text);
// "64 MiB" when it divides evenly, else the plain number. parse_bytes reads it back.
std::string format_bytes(std::int64_t bytes);
// 1/0, true/false, yes/no, on/off.
std::optional<bool> parse_flag(std::string_view text);
// A finite decimal number, nothing before or after it.
std::optional<double> parse_number(std::string_view text);

// The candidate with the fewest edits, when they are few enough to be a slip; else "".
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace unisono
