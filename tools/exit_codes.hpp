// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Exit codes of every subcommand; part of the command's interface.
#pragma once

namespace unisono::tools {

inline constexpr int kSuccess = 0;
inline constexpr int kJobFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kMachineLacks = 3;
// When a signal to the launcher ends a job: 128 + its number, 130 for Ctrl-C, 143 for SIGTERM.
inline constexpr int kSignalBase = 128;

}  // namespace unisono::tools
