// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A machine on trial. Before it begins the members meet, so that nobody sleeps or is late, which has
// nothing to do with the algorithm; when it has finished they meet again, so that the time counts
// until the last of them has its result; then they meet four times more, to know what a meeting takes.
// They agree on the least of either time. The second tells what a step takes in a running engine.
// Thread: the engine's driver.
#pragma once

#include <array>
#include <memory>

#include "move/collective.hpp"
#include "run/select/selector.hpp"

namespace unisono::run {

struct Trial {
  Selector* selector = nullptr;             // learns the result; outlives the machine's steps
  Choice choice = {};
  const Clock* clock = nullptr;
};

inline constexpr std::size_t kMeetings = 6;  // one of them before the trial
// Contexts of the meetings and an agreement, with tags of their own, the same on all members.
using TrialContexts = std::array<move::MoveContext, kMeetings + 1>;
std::unique_ptr<move::CollectiveMachine> make_trial_machine(
    std::unique_ptr<move::CollectiveMachine> tried, const TrialContexts& contexts,
    const Trial& trial);

}  // namespace unisono::run
