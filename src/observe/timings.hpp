// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Where the time of every tensor went: a ring of the last few thousand, always on.
// Cost per bucket: one short lock; per tensor: a copy of 144 bytes. Nothing is allocated but the
// ring itself and, once each, names that are longer than its entries. Thread: any.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <string>
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
  std::array<char, 48> begin{};             // of the name; ends with a zero
  const std::string* whole = nullptr;       // of a longer one; lives as long as the Timings
  Collective kind = Collective::allreduce;
  std::uint32_t set = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bucket = 0;                 // counted by each set for itself
  Stations at{};

  std::string_view name() const {
    return whole == nullptr ? std::string_view(begin.data()) : std::string_view(*whole);
  }
};

class Timings {
 public:
  static constexpr std::size_t kKept = 2048;
  // While somebody writes down all of them: enough for 3 million tensors a second.
  static constexpr std::size_t kKeptForWriter = 65536;
  // Names after these are cut. A program that makes up long names for ever does not fill memory.
  static constexpr std::size_t kLongNamesMax = 65536, kLongNameBytesMax = 16 << 20;

  // Adds the tensors of one bucket, which a reader sees all or none of. Do little while it lives.
  class Batch {
   public:
    explicit Batch(Timings& timings) : timings_(timings), lock_(timings.mutex_) {}
    void add(std::string_view name, Collective kind, std::uint64_t bytes, std::uint32_t set,
             std::uint64_t bucket, const Stations& at) {
      if (timings_.ring_.empty()) timings_.ring_.resize(timings_.kept_);
      TensorTiming& entry = timings_.ring_[timings_.next_++ % timings_.kept_];
      entry.begin.fill('\0');
      std::memcpy(entry.begin.data(), name.data(), std::min(name.size(), entry.begin.size() - 1));
      entry.whole = name.size() < entry.begin.size() ? nullptr : timings_.keep_name(name);
      entry.kind = kind;
      entry.set = set;
      entry.bytes = bytes;
      entry.bucket = bucket;
      entry.at = at;
    }

   private:
    Timings& timings_;
    std::lock_guard<std::mutex> lock_;
  };

  void add(std::string_view name, Collective kind, std::uint64_t bytes, std::uint32_t set,
           std::uint64_t bucket, const Stations& at) {
    Batch(*this).add(name, kind, bytes, set, bucket, at);
  }
  // The last kKept, oldest first.
  std::vector<TensorTiming> recent() const {
    std::lock_guard lock(mutex_);
    return from(next_ > kKept ? next_ - kKept : 0);
  }
  // Returns those after the first `seen` that are still kept; sets `seen` to the count so far.
  std::vector<TensorTiming> since(std::uint64_t& seen) const {
    std::lock_guard lock(mutex_);
    return from(std::exchange(seen, next_));
  }
  std::uint64_t count() const {
    std::lock_guard lock(mutex_);
    return next_;
  }
  // Keeps more from now on, for whoever looks only a few times a second.
  void keep_for_writer() {
    std::lock_guard lock(mutex_);
    if (kept_ == kKeptForWriter) return;
    std::vector<TensorTiming> larger(kKeptForWriter);
    for (std::uint64_t i = next_ - std::min<std::uint64_t>(next_, kept_); i < next_; ++i) {
      larger[i % kKeptForWriter] = ring_[i % kept_];
    }
    ring_ = std::move(larger);
    kept_ = kKeptForWriter;
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
  std::vector<TensorTiming> from(std::uint64_t first) const {
    std::vector<TensorTiming> out;
    const std::uint64_t begin = std::max(first, next_ > kept_ ? next_ - kept_ : 0);
    out.reserve(next_ - std::min(begin, next_));
    for (std::uint64_t i = begin; i < next_; ++i) {
      out.push_back(ring_[i % kept_]);
    }
    return out;
  }
  // Null when there are too many already.
  const std::string* keep_name(std::string_view name) {
    auto found = long_names_.find(name);
    if (found == long_names_.end()) {
      const bool full = long_names_.size() >= kLongNamesMax ||
                        long_name_bytes_ + name.size() > kLongNameBytesMax;
      if (full) return nullptr;
      found = long_names_.emplace(name).first;
      long_name_bytes_ += name.size();
    }
    return &*found;
  }

  mutable std::mutex mutex_;
  std::vector<TensorTiming> ring_;          // allocated when the first tensor comes
  std::size_t kept_ = kKept;
  std::set<std::string, std::less<>> long_names_;
  std::size_t long_name_bytes_ = 0;
  std::uint64_t next_ = 0;
  std::atomic<bool> rounds_kept_{false};
  std::vector<Time> rounds_;
};

}  // namespace unisono::observe
