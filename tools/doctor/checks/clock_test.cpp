// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/clock.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

TEST(DoctorClock, CountersOfTheProcessorAreFine) {
  for (const char* name : {"tsc\n", "kvm-clock\n", "arch_sys_counter\n"}) {
    EXPECT_EQ(judge_clock_source(name, name).mark, Mark::ok) << name;
  }
  EXPECT_EQ(judge_clock_source("tsc\n", "").found, "tsc");
  EXPECT_EQ(judge_clock_source("", "").mark, Mark::ok) << "nothing is known to be wrong";
}

TEST(DoctorClock, ASlowClockIsLeftForTheTscWhereThereIsOne) {
  const Finding with = judge_clock_source("hpet\n", "tsc hpet acpi_pm \n");
  EXPECT_EQ(with.mark, Mark::warn);
  EXPECT_NE(with.mend.find("echo tsc >"), std::string::npos) << with.mend;
  const Finding without = judge_clock_source("acpi_pm\n", "acpi_pm\n");
  EXPECT_EQ(without.mark, Mark::warn);
  EXPECT_EQ(without.mend.find("echo tsc >"), std::string::npos) << without.mend;
}

TEST(DoctorClock, AWallClockThatNobodySteersIsAWarning) {
  EXPECT_EQ(judge_clock_sync({true, true, 12'300}).found, "synchronised, at most 12.3 ms off");
  const Finding free = judge_clock_sync({true, false, 16'000'000});
  EXPECT_EQ(free.mark, Mark::warn);
  EXPECT_NE(free.mend.find("chrony"), std::string::npos);
  EXPECT_EQ(judge_clock_sync({}).mark, Mark::warn);
}

}  // namespace
}  // namespace unisono::tools
