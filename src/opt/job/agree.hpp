// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other besides gradients. Every function is collective over the world.
// Thread: any, one call of a job at a time.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "unisono/unisono.hpp"

namespace unisono::opt {

// Ok when every rank's status is; otherwise the failure of the lowest rank that has one,
// everywhere.
Status agree(Engine& engine, const Status& mine);

// The sums over all ranks, in the same bits on each.
Status sum_over_ranks(Engine& engine, std::span<double> numbers);

// What every rank gives, by rank; as many elements as each likes.
Result<std::vector<std::vector<std::byte>>> gather_bytes(Engine& engine,
                                                         std::span<const std::byte> mine);

template <typename T>
Result<std::vector<std::vector<T>>> gather(Engine& engine, std::span<const T> mine) {
  auto bytes = gather_bytes(engine, std::as_bytes(mine));
  if (!bytes.ok()) return bytes.status();
  std::vector<std::vector<T>> all;
  for (const std::vector<std::byte>& each : *bytes) {
    std::vector<T>& one = all.emplace_back(each.size() / sizeof(T));
    if (!each.empty()) std::memcpy(one.data(), each.data(), each.size());
  }
  return all;
}

}  // namespace unisono::opt
