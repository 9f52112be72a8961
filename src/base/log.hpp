// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One line to standard error per event, written whole. Log once, where a thing is detected.
// Any thread. The level and the rank shown come from set_log; a process with several engines
// shows the last one's rank, so messages name the rank themselves where it matters.
#pragma once

#include <string_view>

namespace unisono {

enum class LogLevel : int { debug = 0, info = 1, warn = 2, error = 3, off = 4 };

void set_log(LogLevel level);
LogLevel log_level_from(std::string_view name);  // unknown names mean warn
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view message);

}  // namespace unisono
