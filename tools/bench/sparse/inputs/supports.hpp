// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which elements of a vector each rank has. The same arguments give the same indices on every
// machine, since only whole numbers are reckoned with. Pure; thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/status.hpp"

namespace unisono::tools {

enum class Support {
  uniform,                                  // any index is equally likely
  zipf,                                     // index i in proportion to 1 / (i + 1)
  identical,                                // all ranks have the same indices, any equally likely
  disjoint,                                 // no index is on two ranks
};
inline constexpr Support kSupports[] = {Support::uniform, Support::zipf, Support::identical,
                                        Support::disjoint};
std::string_view name_of(Support support);
std::optional<Support> support_from(std::string_view name);

using Indices = std::vector<std::uint32_t>;  // strictly increasing

// What all ranks have in common.
struct SupportShape {
  Support support = Support::uniform;
  std::uint64_t length = 0;                 // of the vector, at most 2^32
  std::uint64_t nnz = 0;                    // elements of each rank
  int ranks = 1;
  std::uint64_t seed = 1;
};

// How many elements of a vector a density makes: at least one, at most all.
std::uint64_t elements_at(double density, std::uint64_t length);
// Why there is no such support: more elements than the vector has, or than it has for each rank.
Status supportable(const SupportShape& shape);
// Exactly nnz indices. The shape is supportable.
Indices support_of(const SupportShape& shape, int rank);

}  // namespace unisono::tools
