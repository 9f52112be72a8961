// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/options/cpu_request.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"

namespace unisono {
namespace {

// How many CPUs the kernel's fixed-size mask holds.
constexpr int kCpusMax = 1024;

std::optional<int> parse_cpu(std::string_view text) {
  text = trim(text);
  int cpu = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return cpu >= 0 && cpu < kCpusMax ? std::optional(cpu) : std::nullopt;
}

// Returns the text up to the separator and removes both from the front of rest.
std::string_view next_part(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

std::optional<CpuRequest> parse_lists(std::string_view text) {
  CpuRequest request;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    std::string_view part = next_part(text, ';');
    const bool assigns = part.find('=') != std::string_view::npos;
    const std::string_view name = trim(next_part(part, '='));
    auto* list = name == "engine"    ? &request.engine
                 : name == "input"   ? &request.input
                 : name == "compute" ? &request.compute
                                     : nullptr;
    auto cpus = parse_cpu_list(part);
    if (!assigns || list == nullptr || !cpus || !seen.insert(name).second) return std::nullopt;
    *list = std::move(*cpus);
  }
  std::set<int> all;
  for (const auto* list : {&request.engine, &request.input, &request.compute}) {
    all.insert(list->begin(), list->end());
  }
  const bool disjoint =
      all.size() == request.engine.size() + request.input.size() + request.compute.size();
  if (!disjoint || request.engine.empty() || request.compute.empty()) return std::nullopt;
  return request;
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::set<int> cpus;
  text = trim(text);
  while (!text.empty()) {
    const bool more = text.find(',') != std::string_view::npos;
    std::string_view range = next_part(text, ',');
    if (more && text.empty()) return std::nullopt;
    const bool is_range = range.find('-') != std::string_view::npos;
    const auto first = parse_cpu(next_part(range, '-'));
    const auto last = is_range ? parse_cpu(range) : first;
    if (!first || !last || *last < *first) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
  }
  return std::vector<int>(cpus.begin(), cpus.end());
}

std::string cpu_list_text(std::span<const int> cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    append_text(text, cat(text.empty() ? "" : ",", cpus[i]));
    if (end - i > 1) append_text(text, cat("-", cpus[end - 1]));
    i = end;
  }
  return text;
}

std::optional<CpuRequest> parse_cpu_request(std::string_view text) {
  text = trim(text);
  if (text == "off") return CpuRequest{};
  if (const auto fraction = parse_number(text)) {
    if (!(*fraction > 0 && *fraction < 1)) return std::nullopt;
    CpuRequest request;
    request.fraction = *fraction;
    return request;
  }
  return parse_lists(text);
}

}  // namespace unisono
