// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Starts one rank under a small supervisor process of its own.
//
// The supervisor is the rank's parent and the reaper of everything the rank starts. It ends them
// all when told, and when its socket to the launcher closes, however the launcher died. If the
// supervisor itself is killed, the kernel kills the rank. So no way of dying leaves orphans.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/os/fd.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct Start {
  std::vector<std::string> program;
  std::vector<std::string> environment;  // NAME=value
  std::string folder;
  int input = -1;              // standard input, or -1 for none
  std::vector<int> inherited;  // descriptors the rank keeps
};

// What the supervisor reports: one record per packet.
struct Report {
  enum class Kind : std::int32_t { started, not_started, exited } kind;
  std::int32_t value;  // pid; errno; wait status
};

struct Supervised {
  pid_t supervisor = -1;
  Fd control;   // delivers Reports; a byte written to it is a signal to deliver
  Fd out, err;  // non-blocking
};

// Call it before any thread is started. The child exits through nothing but _exit.
Result<Supervised> start_supervised(const Start& start);

}  // namespace unisono::tools
