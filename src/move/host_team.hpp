// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The members of a set that spans hosts, as an algorithm sees them that uses the memory each host
// shares. Thread: the one that drives the engine. Outlives its machines.
#pragma once

#include <memory>

#include "arena/host_groups.hpp"
#include "move/local/team.hpp"

namespace unisono::move {

struct HostTeam {
  arena::HostGroups groups;
  std::unique_ptr<LocalTeam> team;          // of groups.here
};

}  // namespace unisono::move
