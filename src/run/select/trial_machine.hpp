// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A machine on trial. When it has finished, the members meet, so that the time counts until the last
// of them has its result; then they agree on the least time of any member. That is what the last
// member to begin needed: whoever came before it also counted its waiting.
// Thread: the engine's driver.
#pragma once

#include <memory>

#include "move/collective.hpp"
#include "run/select/selector.hpp"

namespace unisono::run {

struct Trial {
  Selector* selector = nullptr;             // learns the result; outlives the machine's steps
  Choice choice = {};
  const Clock* clock = nullptr;
};

// The contexts have tags of their own, which are the same on all members.
std::unique_ptr<move::CollectiveMachine> make_trial_machine(
    std::unique_ptr<move::CollectiveMachine> tried, const move::MoveContext& meeting,
    const move::MoveContext& agreement, const Trial& trial);

}  // namespace unisono::run
