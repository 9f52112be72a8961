// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace unisono {
namespace {
long futex(FutexWord& word, int operation, std::uint32_t value, const timespec* limit) {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit,
                   nullptr, 0);
}
}  // namespace

void futex_wait(FutexWord& word, std::uint32_t expected, Nanos limit) {
  const timespec spec{static_cast<time_t>(limit.count() / 1'000'000'000),
                      static_cast<long>(limit.count() % 1'000'000'000)};
  futex(word, FUTEX_WAIT_PRIVATE, expected, limit.count() < 0 ? nullptr : &spec);
}

void futex_wake_one(FutexWord& word) { futex(word, FUTEX_WAKE_PRIVATE, 1, nullptr); }
void futex_wake_all(FutexWord& word) { futex(word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr); }

}  // namespace unisono
