// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <string>

namespace unisono {
namespace {
std::atomic<int> g_level{static_cast<int>(LogLevel::warn)};
constexpr std::string_view kNames[] = {"debug", "info", "warn", "error", "off"};
}  // namespace

void set_log(LogLevel level) { g_level.store(static_cast<int>(level), std::memory_order_relaxed); }

LogLevel log_level_from(std::string_view name) {
  for (int i = 0; i < 5; ++i) {
    if (kNames[i] == name) return static_cast<LogLevel>(i);
  }
  return LogLevel::warn;
}

bool log_enabled(LogLevel level) {
  return static_cast<int>(level) >= g_level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  std::string line = "unisono ";
  line.append(kNames[static_cast<int>(level)]).append(": ").append(message).push_back('\n');
  // A single write keeps lines of different ranks apart on a shared terminal.
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace unisono
