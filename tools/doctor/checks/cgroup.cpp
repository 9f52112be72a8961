// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/cgroup.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/data/text.hpp"
#include "doctor/checks/files.hpp"
#include "model/options/option_values.hpp"

namespace unisono::tools {
namespace {

constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

// Adds the folder of a path and all folders around it, up to `top`.
void add_folders(std::string_view top, std::string_view path, std::vector<std::string>& folders) {
  // Outside of the own namespace the path begins with "..", and only the top can be seen.
  if (path.find("..") != std::string_view::npos) path = "/";
  while (path.size() > 1) {
    folders.push_back(cat(top, path));
    path = path.substr(0, path.rfind('/'));
  }
  folders.emplace_back(top);
}

bool names_controller(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == wanted) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  text = trim(text);
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string> cgroup_folders(std::string_view text, std::string_view controller) {
  std::vector<std::string> folders;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view list = std::string_view(line).substr(first + 1, second - first - 1);
    const std::string_view path = std::string_view(line).substr(second + 1);
    if (list.empty()) {
      add_folders(kCgroupRoot, path, folders);
    } else if (names_controller(list, controller)) {
      add_folders(cat(kCgroupRoot, "/", list), path, folders);
      if (list != controller) add_folders(cat(kCgroupRoot, "/", controller), path, folders);
    }
  }
  return folders;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  std::istringstream words{std::string(text)};
  double quota = 0, period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> parse_cfs_quota(std::string_view quota, std::string_view period) {
  return parse_cpu_max(cat(quota, " ", period));
}

std::optional<std::int64_t> parse_memory_limit(std::string_view text) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;
  const auto bytes = whole_number(text);
  return bytes && *bytes > 0 && *bytes < kNoLimit ? bytes : std::nullopt;
}

std::optional<double> cgroup_cpu_quota() {
  std::optional<double> least;
  for (const std::string& folder : cgroup_folders(text_of("/proc/self/cgroup"), "cpu")) {
    auto quota = parse_cpu_max(text_of(folder + "/cpu.max"));
    if (!quota) {
      quota = parse_cfs_quota(text_of(folder + "/cpu.cfs_quota_us"),
                              text_of(folder + "/cpu.cfs_period_us"));
    }
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

std::optional<CgroupMemory> cgroup_memory() {
  std::optional<CgroupMemory> tightest;
  for (const std::string& folder : cgroup_folders(text_of("/proc/self/cgroup"), "memory")) {
    auto limit = parse_memory_limit(text_of(folder + "/memory.max"));
    auto used = whole_number(text_of(folder + "/memory.current"));
    if (!limit) {
      limit = parse_memory_limit(text_of(folder + "/memory.limit_in_bytes"));
      used = whole_number(text_of(folder + "/memory.usage_in_bytes"));
    }
    if (!limit) continue;
    const CgroupMemory here{*limit, used.value_or(0)};
    if (!tightest || here.limit - here.used < tightest->limit - tightest->used) tightest = here;
  }
  return tightest;
}

}  // namespace unisono::tools
