// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The scalar oracle of sparse.hpp: the same functions, one element at a time and nothing clever.
// Thread: any; no state.
#pragma once

#include "kernels/sparse/sparse.hpp"

namespace unisono::kernels::reference {

void scatter_reduce(const Operator& op, const Accumulators& into, const Pairs& pairs);
std::size_t count_present(const Accumulators& segment);
std::size_t compact(const Accumulators& segment, const PairsOut& out);
std::optional<std::size_t> merge(const Operator& op, const Pairs& a, const Pairs& b,
                                 const PairsOut& out);
bool is_support(const Pairs& pairs, std::uint64_t limit);

}  // namespace unisono::kernels::reference
