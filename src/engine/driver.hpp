// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The token that says who drives the engine's loop: normally the engine thread, for a moment a
// thread that waits on a Ticket. Whoever holds it owns everything the loop owns.
#pragma once

#include <mutex>
#include <utility>

#include "base/os/futex.hpp"

namespace unisono::engine {

class DriverToken {
 public:
  bool try_take() {
    std::uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire);
  }
  void take() {
    if (try_take()) return;
    // From here on the word says that someone waits, so that release() knows to wake.
    while (word_.exchange(kWanted, std::memory_order_acquire) != kFree) {
      futex_wait(word_, kWanted, Nanos(-1));
    }
  }
  void release() {
    if (word_.exchange(kFree, std::memory_order_release) == kWanted) futex_wake_one(word_);
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kWanted = 2;
  FutexWord word_{kFree};
};

// Holds the token for a scope: however the scope is left, somebody else can drive afterwards.
class TokenHold {
 public:
  // Waits for the token.
  explicit TokenHold(DriverToken& token) : token_(&token) { token.take(); }
  // The token has been taken already.
  TokenHold(DriverToken& token, std::adopt_lock_t) : token_(&token) {}
  ~TokenHold() { release(); }
  TokenHold(const TokenHold&) = delete;
  TokenHold& operator=(const TokenHold&) = delete;

  void release() {
    if (token_ != nullptr) std::exchange(token_, nullptr)->release();
  }

 private:
  DriverToken* token_;
};

}  // namespace unisono::engine
