// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "processes/capture.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/data/text.hpp"

namespace unisono::tools {

Captured capture(const std::vector<std::string>& command, double limit_s, const Tick& tick,
                 Keep keep) {
  auto child = Child::run(command);
  if (!child) return {-1, true, "", child.status().message()};
  child->close_input();
  if (keep == Keep::end) child->keep_end();
  Child* const all[] = {&*child};
  const bool in_time = pump_until(
      all, SteadyClock().now() + seconds_to_nanos(limit_s), [&] { return child->ended(); }, tick);
  return {child->exit_code(), in_time, child->out(), child->err()};
}

std::string find_on_path(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    return ::access(std::string(name).c_str(), X_OK) == 0 ? std::string(name) : "";
  }
  std::string_view path = std::getenv("PATH") == nullptr ? "/usr/bin:/bin" : std::getenv("PATH");
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string candidate = cat(path.substr(0, end), "/", name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return "";
}

std::string own_path() {
  char self[4096];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self);
  return n > 0 ? std::string(self, static_cast<std::size_t>(n)) : "unisono";
}

}  // namespace unisono::tools
