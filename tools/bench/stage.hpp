// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Prepares the contenders: finds the peers, starts each group of workers and waits until all of its
// ranks have said hello.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/contender.hpp"
#include "bench/machine.hpp"
#include "bench/peers.hpp"

namespace unisono::tools {

struct Stage {
  // Outlives the groups, which read their scripts from it.
  std::unique_ptr<PeerScripts> scripts;
  std::vector<std::unique_ptr<Contender>> contenders;  // ours first
  std::vector<std::string> notes;                      // peers that are not there, and why
};

// Fails only when unisono itself cannot be started. Versions are added to the machine's.
Result<Stage> set_stage(const BenchSettings& settings, Machine& machine);

}  // namespace unisono::tools
