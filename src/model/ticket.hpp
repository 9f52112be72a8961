// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The shared state behind a Ticket. The engine writes the result, then finishes; from then on it
// is immutable and any thread may read it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/os/futex.hpp"
#include "unisono/sparse.hpp"
#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono {

namespace stream {
class Stream;                               // stream/stream.hpp
}  // namespace stream
struct TicketState;

// How a thread waits on this ticket: the engine lets it drive the loop before it sleeps.
class TicketWaiter {
 public:
  virtual ~TicketWaiter() = default;
  // Returns when the ticket is done or the deadline has passed.
  virtual void wait(TicketState& ticket, Time deadline) = 0;
  // Not ok when waiting from here can never end, e.g. in a forked child.
  virtual Status may_wait() const = 0;
  // The program is about to learn that a watched ticket is done.
  virtual void observed(const TicketState& ticket) noexcept = 0;
};

// Which response answers a ticket.
struct Watch {
  std::uint32_t set = 0;                    // a process set
  std::uint64_t sequence = 0;
};

struct TicketState {
  std::string name;
  std::weak_ptr<TicketWaiter> waiter;

  // Written by the engine before finish().
  Status status;
  DType dtype = DType::f32;
  Shape shape;
  std::unique_ptr<std::byte[]> result;      // engine-owned output, when the caller gave none
  std::size_t result_bytes = 0;
  std::vector<std::int64_t> splits;
  std::int64_t value = -1;
  std::shared_ptr<const stream::Stream> sparse;  // result of a sparse collective
  std::string_view algorithm;               // by which it was made; lives for ever
  ReduceOp op = ReduceOp::sum;              // and by which operator
  std::shared_ptr<const SparseOperator> user_operator;  // or one of the caller's
  std::optional<Watch> watch;               // set: somebody wants to know when the program looks

  bool done() const { return word_.load(std::memory_order_acquire) == kDone; }
  // Call it before the program is told that the ticket is done: what the program submits from then
  // on may depend on it, so the engine hears of it first. Two threads that look at once both tell.
  void observe() {
    if (!watch || told_.load(std::memory_order_acquire)) return;
    if (const auto engine = waiter.lock()) engine->observed(*this);
    told_.store(true, std::memory_order_release);
  }
  void finish() {
    if (word_.exchange(kDone, std::memory_order_acq_rel) == kSleeping) futex_wake_all(word_);
  }
  // Sleeps until finish() or the limit (negative: none); may return early.
  void sleep(Nanos limit) {
    std::uint32_t expected = kPending;
    if (word_.compare_exchange_strong(expected, kSleeping, std::memory_order_acq_rel) ||
        expected == kSleeping) {
      futex_wait(word_, kSleeping, limit);
    }
  }

 private:
  static constexpr std::uint32_t kPending = 0, kSleeping = 1, kDone = 2;
  FutexWord word_{kPending};
  std::atomic<bool> told_{false};
};

}  // namespace unisono
