// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Time is injected: engines read a SteadyClock, tests and the simulator a ManualClock.
#pragma once

#include <chrono>
#include <cstdint>

namespace unisono {

using Nanos = std::chrono::nanoseconds;

// Nanoseconds since an arbitrary start; only differences mean anything.
struct Time {
  std::int64_t ns = 0;
  friend auto operator<=>(const Time&, const Time&) = default;
  friend Time operator+(Time t, Nanos d) { return {t.ns + d.count()}; }
  friend Nanos operator-(Time a, Time b) { return Nanos(a.ns - b.ns); }
};
inline constexpr Time kNever{INT64_MAX};

inline Nanos seconds_to_nanos(double s) { return Nanos(static_cast<std::int64_t>(s * 1e9)); }
inline double nanos_to_seconds(Nanos d) { return static_cast<double>(d.count()) * 1e-9; }

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
  // Has the engine look again at that time, where nothing else would wake it. Whatever asks is
  // looked at whenever the engine looks at anything, and asks again while it waits.
  virtual void wake_at(Time) const {}
};

class SteadyClock final : public Clock {
 public:
  Time now() const override {
    return {std::chrono::duration_cast<Nanos>(
                std::chrono::steady_clock::now().time_since_epoch())
                .count()};
  }
};

class ManualClock final : public Clock {
 public:
  Time now() const override { return now_; }
  void advance(Nanos d) { now_ = now_ + d; }

 private:
  Time now_;
};

}  // namespace unisono
