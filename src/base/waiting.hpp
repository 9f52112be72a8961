// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How long the engine's threads look before they sleep, live and under virtual time
// (docs/THREADS.md).
#pragma once

#include "base/clock.hpp"

namespace unisono {

// A waiting thread spins for so long where cores are free.
inline constexpr Nanos kSpinFor = std::chrono::microseconds(50);
// And for so long where each rank has two cores or more: on some machines a core that idles takes a
// quarter of a millisecond to wake, and the ranks that wait for the sleeper would sleep in turn.
inline constexpr Nanos kSpinWithRoomFor = std::chrono::microseconds(300);
// With more ranks than cores the one that is waited for needs this core; sleeping and waking would
// cost more than the small exchanges that are waited for.
inline constexpr Nanos kYieldFor = std::chrono::microseconds(300);
// Who submits again so soon leaves the rest of a burst to the engine's thread.
inline constexpr Nanos kBurst = std::chrono::microseconds(100);

}  // namespace unisono
