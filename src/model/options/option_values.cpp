// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/options/option_values.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/data/text.hpp"

namespace unisono {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// How many bits a suffix shifts by; nullopt when we do not know it.
std::optional<int> shift_of(std::string_view suffix) {
  static constexpr std::string_view kUnits = "kmgt";
  const std::string word = lower(suffix);
  if (word.empty() || word == "b") return 0;
  const std::size_t unit = kUnits.find(word[0]);
  const std::string_view rest = std::string_view(word).substr(1);
  if (unit == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) {
    return std::nullopt;
  }
  return static_cast<int>(unit + 1) * 10;
}

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t comma = text.find(',', at);
    parts.push_back(trim(text.substr(at, comma == std::string_view::npos ? comma : comma - at)));
    at = comma == std::string_view::npos ? comma : comma + 1;
  }
  return parts;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  text = trim(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const auto shift = shift_of(trim(text.substr(static_cast<std::size_t>(end - text.data()))));
  if (!shift || number > (INT64_MAX >> *shift)) return std::nullopt;
  return number << *shift;
}

std::string format_bytes(std::int64_t bytes) {
  static constexpr std::string_view kUnits[] = {"", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return cat(bytes, kUnits[unit]);
}

std::optional<bool> parse_flag(std::string_view text) {
  const std::string word = lower(trim(text));
  for (const std::string_view yes : {"1", "true", "yes", "on"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "no", "off"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  text = trim(text);
  double number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string wanted = lower(word);
  std::string_view best;
  std::size_t best_edits = std::max<std::size_t>(2, word.size() / 4) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t n = edits(wanted, lower(candidate));
    // Words that share less than half their letters are not a slip of each other.
    if (n < best_edits && 2 * n <= std::max(word.size(), candidate.size())) {
      best = candidate;
      best_edits = n;
    }
  }
  return best;
}

}  // namespace unisono
