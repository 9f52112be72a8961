// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the engine has done so far, readable from any thread at any time.
// One writer (the thread that drives the engine) except where noted; all relaxed, since a reader
// wants totals, not an order between them.
#pragma once

#include <atomic>
#include <cstdint>

#include "unisono/stats_table.h"

namespace unisono::observe {

struct Counters {
  using Count = std::atomic<std::uint64_t>;
#define UNISONO_COUNT(name, about) Count name{0};
#define UNISONO_TIME(name, about) Count name##_ns{0};
#define UNISONO_NOW(name, about)
  UNISONO_STATS(UNISONO_COUNT, UNISONO_TIME, UNISONO_NOW, UNISONO_NOW)
#undef UNISONO_COUNT
#undef UNISONO_TIME
#undef UNISONO_NOW

  static void add(Count& counter, std::uint64_t n = 1) {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
  static void set(Count& counter, std::uint64_t n) { counter.store(n, std::memory_order_relaxed); }
  static std::uint64_t get(const Count& counter) {
    return counter.load(std::memory_order_relaxed);
  }
};

// Keeps the largest of what it was told.
inline void keep_most(Counters::Count& counter, std::uint64_t n) {
  if (n > Counters::get(counter)) Counters::set(counter, n);
}

// Counts a bucket that begins, and its size.
inline void count_bucket(Counters& counters, std::uint64_t bytes) {
  Counters::add(counters.buckets);
  Counters::add(bytes < (4 << 10)    ? counters.buckets_below_4k
                : bytes < (64 << 10) ? counters.buckets_below_64k
                : bytes < (1 << 20)  ? counters.buckets_below_1m
                : bytes < (16 << 20) ? counters.buckets_below_16m
                                     : counters.buckets_from_16m);
}

}  // namespace unisono::observe
