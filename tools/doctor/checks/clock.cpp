// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/clock.hpp"

#include <sys/timex.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/data/text.hpp"
#include "doctor/checks/files.hpp"
#include "model/options/option_values.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kClockFolder = "/sys/devices/system/clocksource/clocksource0/";
// Each reading of these is a slow access to a device; others are read without the kernel's help.
constexpr std::string_view kSlowClocks[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"};

ClockSync ask_kernel_for_sync() {
  timex about{};  // modes 0: nothing is changed
  const int state = ::adjtimex(&about);
  if (state < 0) return {};
  return {true, state != TIME_ERROR && (about.status & STA_UNSYNC) == 0,
          static_cast<std::int64_t>(about.maxerror)};
}

}  // namespace

Finding judge_clock_source(std::string_view current, std::string_view available) {
  const std::string name = "clock source";
  current = trim(current);
  if (current.empty()) return good(name, "the kernel does not tell");
  if (std::find(std::begin(kSlowClocks), std::end(kSlowClocks), current) == std::end(kSlowClocks)) {
    return good(name, std::string(current));
  }
  std::istringstream words{std::string(available)};
  bool has_tsc = false;
  for (std::string word; words >> word;) has_tsc = has_tsc || word == "tsc";
  return doubtful(name, cat(current, ": every look at the clock takes about a microsecond"),
                  has_tsc ? cat("as root: echo tsc > ", kClockFolder, "current_clocksource")
                          : "boot with tsc=reliable, or choose a machine whose TSC is stable");
}

Finding judge_clock_sync(const ClockSync& sync) {
  const std::string name = "wall clock";
  if (!sync.known) {
    return doubtful(name, "the kernel does not say whether it is synchronised",
                    "see whether a sandbox refuses adjtimex");
  }
  if (sync.synchronised) {
    return good(name, cat("synchronised, at most ",
                          fixed(static_cast<double>(sync.max_error_us) * 1e-3, 1), " ms off"));
  }
  return doubtful(name,
                  "not synchronised; jobs do not need it, but timelines and logs of several hosts "
                  "do not fit together",
                  "timedatectl set-ntp true, or install chrony; in a container, on its host");
}

std::vector<Finding> check_clocks() {
  return {judge_clock_source(text_of(cat(kClockFolder, "current_clocksource")),
                             text_of(cat(kClockFolder, "available_clocksource"))),
          judge_clock_sync(ask_kernel_for_sync())};
}

}  // namespace unisono::tools
