// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One collective after the other of a single kind, until it fails: what runs when a rank is killed
// is then known, where a mixed load would leave it to chance.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "unisono/unisono.hpp"

struct Failed {
  unisono::Status status;       // the first error; ok when the kind is not known
  std::int64_t at_ns = 0;
  std::int64_t round = 0;
  int wrong = 0;                // results that were called good and are not
  // Every tensor that failed holds what was put in, or all of the result. Not asked of tensors in
  // the arena, which are undefined then.
  bool spared = true;
  bool same = true;             // all tickets that failed blame the same rank
};

// kind: tiny, user, arena, fused, persistent, broadcast, allgather, reducescatter, alltoall, barrier.
// begins: called when what the kind needs has been prepared.
Failed loop_until_failure(unisono::Engine& engine, const std::string& kind,
                          const std::function<void()>& begins);
