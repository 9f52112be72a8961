// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/agree/rank_text.hpp"

#include <unordered_map>

#include "base/data/text.hpp"

namespace unisono::order {

std::string ranks_text(const std::vector<Rank>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i >= 3) {
      runs.push_back(cat(ranks[i], "-", ranks[end - 1]));
    } else {
      for (std::size_t k = i; k < end; ++k) runs.push_back(cat(ranks[k]));
    }
    i = end;
  }
  return cat(ranks.size() == 1 ? "rank " : "ranks ", join_text(runs));
}

std::string by_rank_text(const std::vector<std::pair<Rank, std::string>>& sent) {
  std::vector<std::pair<std::string_view, std::vector<Rank>>> values;
  std::unordered_map<std::string_view, std::size_t> position;
  for (const auto& [rank, value] : sent) {
    const auto [it, fresh] = position.emplace(value, values.size());
    if (fresh) values.push_back({value, {}});
    values[it->second].second.push_back(rank);
  }
  std::vector<std::string> parts;
  for (const auto& [value, ranks] : values) parts.push_back(cat(ranks_text(ranks), ": ", value));
  return join_text(parts, "; ");
}

}  // namespace unisono::order
