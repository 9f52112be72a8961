// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How order/ writes ranks and what each of them sent: "rank 0: [3, 4]; ranks 1, 2: [3, 5]".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "unisono/types.hpp"

namespace unisono::order {

// "rank 3", "ranks 1, 2", "ranks 0-15, 20": ascending ranks, runs of three or more as a range.
std::string ranks_text(const std::vector<Rank>& ranks);
// Ranks that sent the same are listed together, in order of the first of them.
std::string by_rank_text(const std::vector<std::pair<Rank, std::string>>& sent);

}  // namespace unisono::order
