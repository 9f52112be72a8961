// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the engine has done so far, readable from any thread at any time.
// One writer (the thread that drives the engine) except where noted; all relaxed, since a reader
// wants totals, not an order between them.
#pragma once

#include <atomic>
#include <cstdint>

namespace unisono {

struct Counters {
  using Count = std::atomic<std::uint64_t>;
  Count control_messages{0}, control_bytes{0}, data_bytes{0};
  Count cycles{0}, buckets{0}, operations{0}, operations_failed{0};
  Count strangers{0}, wakeups{0}, order_digest{0};
  Count cache_hits{0}, cache_misses{0};
  // Where tensors spent their time; observe/timings.hpp says what each stretch is.
  Count negotiation_ns{0}, wait_tensors_ns{0}, pack_ns{0}, wait_data_ns{0}, move_ns{0}, unpack_ns{0};
  Count exposed_ns{0};                      // added to by every waiting thread

  static void add(Count& counter, std::uint64_t n = 1) {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
  static void set(Count& counter, std::uint64_t n) { counter.store(n, std::memory_order_relaxed); }
  static std::uint64_t get(const Count& counter) {
    return counter.load(std::memory_order_relaxed);
  }
};

}  // namespace unisono
