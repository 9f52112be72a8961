// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Seats for ranks that are threads, and the options the first of them brought: the others must
// bring the same. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "transport/mesh.hpp"
#include "unisono/options.hpp"

namespace unisono {

class WorldCore {
 public:
  explicit WorldCore(int size) : seats_(size) {}
  InprocWorld& seats() { return seats_; }
  // refused, naming both, when these options differ from those of the first rank.
  Status agree(const Options& options, Rank rank);

 private:
  InprocWorld seats_;
  std::mutex mutex_;
  std::optional<Options> agreed_;
  Rank first_ = 0;
};

}  // namespace unisono
