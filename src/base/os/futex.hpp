// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sleeping on a word of memory and waking its sleepers, within one process.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace unisono {

using FutexWord = std::atomic<std::uint32_t>;

// Sleeps while the word holds `expected`; may return early. A negative limit means no limit.
void futex_wait(FutexWord& word, std::uint32_t expected, Nanos limit);
void futex_wake_one(FutexWord& word);
void futex_wake_all(FutexWord& word);

}  // namespace unisono
