// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A steady clock with a descriptor that becomes readable at the time asked for (timerfd).
// Thread: any reads the time; whoever drives the engine sets the alarm.
#pragma once

#include <sys/timerfd.h>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/os/fd.hpp"

namespace unisono {

class AlarmClock final : public Clock {
 public:
  AlarmClock() : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    UNISONO_CHECK(timer_.valid());
  }

  Time now() const override { return clock_.now(); }
  // The earliest of the times asked for that are still to come counts.
  void wake_at(Time at) const override {
    if (next_ <= at && now() < next_) return;
    next_ = at;
    constexpr std::int64_t kSecond = 1'000'000'000;
    const itimerspec when{{}, {at.ns / kSecond, at.ns % kSecond}};
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  }
  int fd() const { return timer_.get(); }

 private:
  SteadyClock clock_;
  Fd timer_;
  mutable Time next_{};
};

}  // namespace unisono
