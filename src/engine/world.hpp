// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Seats for ranks that are threads, and the options the first of them brought: the others must
// bring the same. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "arena/neighbourhood.hpp"
#include "transport/mesh/mesh.hpp"
#include "unisono/options.hpp"

namespace unisono::engine {

class WorldCore {
 public:
  explicit WorldCore(int size)
      : inproc_(size), ranks_per_host_(size), shown_(static_cast<std::size_t>(size)) {}
  // From here on only so many neighbouring ranks share memory, as if each of these groups had a
  // host of its own; called before anybody joins.
  void divide_into_hosts(int ranks_per_host) { ranks_per_host_ = ranks_per_host; }
  bool divided() const { return static_cast<std::size_t>(ranks_per_host_) < shown_.size(); }
  std::vector<int> host_of() const;         // by rank
  transport::InprocWorld& inproc() { return inproc_; }
  // Returns refused, naming both, when these options differ from those of the first rank.
  Status agree(const Options& options, Rank rank);
  // Shows this rank's memory to the others; called before it joins.
  void show(Rank rank, const arena::Neighbourhood& mine, const Doorbell& bell);
  // Adds everyone else's memory; called after all have joined.
  void meet(Rank rank, arena::Neighbourhood& mine) const;

 private:
  transport::InprocWorld inproc_;
  int ranks_per_host_;
  mutable std::mutex mutex_;
  std::optional<Options> agreed_;
  struct Shown {
    std::shared_ptr<arena::Segment> segment;
    std::shared_ptr<const BellPage> page;
    Ringer bell;
  };
  std::vector<Shown> shown_;
  Rank first_ = 0;
};

}  // namespace unisono::engine
