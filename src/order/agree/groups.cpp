// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/agree/groups.hpp"

#include <algorithm>
#include <set>

#include "base/data/text.hpp"
#include "order/agree/rank_text.hpp"

namespace unisono::order {
namespace {

// Beyond this many names only those that not every member sent are listed.
constexpr std::size_t kNamesShown = 16;

std::string contents_text(const Unit& unit, int member) {
  std::vector<std::string> parts;
  std::set<std::string_view> groups;
  for (const auto& tensor : unit.tensors) {
    if (tensor->submitted.test(member)) groups.insert(tensor->of(member).group);
  }
  for (const std::string_view group : groups) {
    std::vector<std::string_view> names;
    std::size_t tensors = 0;
    std::uint32_t size = 0;
    for (const auto& tensor : unit.tensors) {
      if (!tensor->submitted.test(member) || tensor->of(member).group != group) continue;
      ++tensors;
      size = tensor->of(member).group_size;
      if (unit.tensors.size() <= kNamesShown || tensor->submitted != unit.arrived) {
        names.push_back(tensor->canonical.name);
      }
    }
    const std::string list = cat(names.size() < tensors ? "among them " : "", "[",
                                 join_text(names), "]");
    parts.push_back(group.empty() ? cat("no group ", list)
                                  : cat("group \"", group, "\" of ", size, " ", list));
  }
  return parts.empty() ? std::string("nothing (joined)") : join_text(parts, " and ");
}

}  // namespace

std::size_t parcel_length(const std::vector<Request>& requests, std::size_t first) {
  const Request& head = requests[first];
  if (head.group.empty()) return 1;
  const std::size_t size = head.group_size;
  if (size > requests.size() - first) return 0;
  for (std::size_t i = first; i < first + size; ++i) {
    if (requests[i].group != head.group || requests[i].group_size != head.group_size) return 0;
  }
  return size;
}

Status composition_error(const Unit& unit, const Members& members) {
  std::vector<std::pair<Rank, std::string>> sent;
  for (int i = 0; i < members.count(); ++i) {
    sent.emplace_back(members.rank_of(i), contents_text(unit, i));
  }
  const auto other = std::find_if(sent.begin(), sent.end(), [&](const auto& entry) {
    return entry.second != sent.front().second;
  });
  // Lists can look alike when a member used one group name twice for tensors others grouped once.
  const std::string& another = other == sent.end() ? sent.front().second : other->second;
  return {Code::mismatch,
          cat("Mismatched groups: One rank sent ", sent.front().second, ", but another rank sent ",
              another, ". ", by_rank_text(sent),
              ". Submit the same tensors in the same groups on every rank."),
          {.rank = -1, .host = {}, .pid = 0, .tensor = std::string(unit.name())}};
}

}  // namespace unisono::order
