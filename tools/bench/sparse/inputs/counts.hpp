// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How many different indices some ranks have in some range, for the closed forms of cost/: as it is
// to be expected of a kind of support, and as it is. Thread: one at a time for each function.
#pragma once

#include <memory>
#include <vector>

#include "bench/sparse/inputs/supports.hpp"
#include "cost/sparse_algorithms.hpp"

namespace unisono::tools {

// From length, elements and number of ranks alone. Of Zipf's law, a rank's elements are taken as
// those that some number of independent draws leave, as many draws as make their number right on
// average.
cost::UnionCount expected_counts(const SupportShape& shape);
// Of what the ranks really have, by rank. Ranks are counted around.
cost::UnionCount actual_counts(std::shared_ptr<const std::vector<Indices>> supports,
                               std::uint64_t length);

}  // namespace unisono::tools
