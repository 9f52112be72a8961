// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Learning rates over a training. Pure.
#pragma once

#include <cmath>
#include <optional>
#include <string_view>

namespace unisono::opt {

enum class Schedule { constant, inverse, step };

struct ScheduleRow {
  std::string_view name;
  Schedule schedule;
  std::string_view about;
};
inline constexpr ScheduleRow kSchedules[] = {
    {"constant", Schedule::constant, "the rate throughout"},
    {"inverse", Schedule::inverse, "rate / (1 + decay · epochs so far), falling with every step"},
    {"step", Schedule::step, "rate · decay ^ (epochs so far / every, rounded down)"},
};

struct RateSettings {
  Schedule schedule = Schedule::inverse;
  double rate = 0;                          // of the first step; 0: one that suits the data
  double decay = 0.1;
  int every = 5;                            // epochs between two falls of `step`
};

// epochs: passes over the data so far, with fractions.
inline double rate_at(const RateSettings& settings, double epochs) {
  switch (settings.schedule) {
    case Schedule::constant: return settings.rate;
    case Schedule::inverse: return settings.rate / (1 + settings.decay * epochs);
    case Schedule::step:
      return settings.rate * std::pow(settings.decay, std::floor(epochs / settings.every));
  }
  return settings.rate;
}

}  // namespace unisono::opt
