// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Where the time of every tensor went: a ring of the last few thousand, always on.
// Cost per tensor: one short lock and a copy of 128 bytes. Thread: any.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "unisono/types.hpp"

namespace unisono::observe {

// When a tensor reached each station on this rank. The stretches between them, in order:
// negotiation, waiting for other tensors, packing, waiting for data, moving, unpacking.
struct Stations {
  Time submitted, agreed, begun, packed, joined, moved, done;
};

struct TensorTiming {
  std::array<char, 48> name{};              // cut when longer; ends with a zero
  Collective kind = Collective::allreduce;
  std::uint64_t bytes = 0;
  std::uint64_t bucket = 0;
  Stations at{};
};

class Timings {
 public:
  static constexpr std::size_t kKept = 2048;

  void add(std::string_view name, Collective kind, std::uint64_t bytes, std::uint64_t bucket,
           const Stations& at) {
    std::lock_guard lock(mutex_);
    if (ring_.size() < kKept) ring_.resize(kKept);
    TensorTiming& entry = ring_[next_++ % kKept];
    entry.name.fill('\0');
    std::memcpy(entry.name.data(), name.data(), std::min(name.size(), entry.name.size() - 1));
    entry.kind = kind;
    entry.bytes = bytes;
    entry.bucket = bucket;
    entry.at = at;
  }
  // Oldest first.
  std::vector<TensorTiming> recent() const {
    std::uint64_t from = 0;
    return since(from);
  }
  // Returns those after the first `seen` that are still kept; sets `seen` to the count so far.
  std::vector<TensorTiming> since(std::uint64_t& seen) const {
    std::lock_guard lock(mutex_);
    std::vector<TensorTiming> out;
    for (std::uint64_t i = std::max(seen, next_ > kKept ? next_ - kKept : 0); i < next_; ++i) {
      out.push_back(ring_[i % kKept]);
    }
    seen = next_;
    return out;
  }
  std::uint64_t count() const {
    std::lock_guard lock(mutex_);
    return next_;
  }

  // Rounds of negotiation are kept only while somebody takes them.
  void keep_rounds(bool keep) { rounds_kept_.store(keep, std::memory_order_relaxed); }
  void add_round(Time begin) {
    if (!rounds_kept_.load(std::memory_order_relaxed)) return;
    std::lock_guard lock(mutex_);
    if (rounds_.size() < kKept) rounds_.push_back(begin);
  }
  std::vector<Time> take_rounds() {
    std::lock_guard lock(mutex_);
    return std::exchange(rounds_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::vector<TensorTiming> ring_;          // allocated when the first tensor comes
  std::uint64_t next_ = 0;
  std::atomic<bool> rounds_kept_{false};
  std::vector<Time> rounds_;
};

}  // namespace unisono::observe
