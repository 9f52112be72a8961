// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "submit/split_groups.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace unisono::submit {
namespace {

// Fills run after run up to the limit. A run also ends when only as many tensors are left as there
// are runs to fill; ending early makes no run heavier.
std::vector<std::size_t> fill(std::span<const std::uint64_t> sizes, std::size_t runs,
                              std::uint64_t limit) {
  std::vector<std::size_t> counts;
  std::size_t next = 0;
  while (next < sizes.size()) {
    const std::size_t first = next;
    const std::size_t later = runs > counts.size() + 1 ? runs - counts.size() - 1 : 0;
    std::uint64_t room = limit - sizes[next++];
    while (sizes.size() - next > later && sizes[next] <= room) room -= sizes[next++];
    counts.push_back(next - first);
  }
  return counts;
}

}  // namespace

std::vector<std::size_t> split_by_count(std::size_t tensors, std::size_t groups) {
  UNISONO_CHECK(groups >= 1);
  const std::size_t runs = std::min(groups, tensors);
  std::vector<std::size_t> counts(runs);
  for (std::size_t i = 0; i < runs; ++i) counts[i] = tensors / runs + (i < tensors % runs ? 1 : 0);
  return counts;
}

std::vector<std::size_t> split_by_bytes(std::span<const std::uint64_t> sizes, std::size_t groups) {
  UNISONO_CHECK(groups >= 1);
  if (sizes.empty()) return {};
  const std::size_t runs = std::min(groups, sizes.size());
  // The smallest limit that suffices lies between the largest tensor and all of them together.
  std::uint64_t low = *std::max_element(sizes.begin(), sizes.end());
  std::uint64_t high = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (fill(sizes, runs, middle).size() <= runs) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return fill(sizes, runs, low);
}

}  // namespace unisono::submit
