// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/cores.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

TEST(DoctorCores, AMachineWithoutLimitsIsFine) {
  const Finding finding = judge_cores({{0, 1, 2, 3}, {0, 1, 2, 3}, std::nullopt});
  EXPECT_EQ(finding.mark, Mark::ok);
  EXPECT_EQ(finding.found, "4 of 4 online CPUs usable (0-3), no cgroup quota");
  EXPECT_EQ(finding.mend, "");
}

TEST(DoctorCores, AMaskOfSeveralCpusIsSomebodysIntention) {
  const Finding finding = judge_cores({{0, 1, 2, 3}, {2, 3}, std::nullopt});
  EXPECT_EQ(finding.mark, Mark::ok);
  EXPECT_EQ(finding.found, "2 of 4 online CPUs usable (2-3), no cgroup quota");
}

TEST(DoctorCores, OneOfManyCpusIsTooFew) {
  const Finding finding = judge_cores({{0, 1, 2, 3}, {2}, std::nullopt});
  EXPECT_EQ(finding.mark, Mark::warn);
  EXPECT_NE(finding.mend.find("taskset -cp 0-3"), std::string::npos) << finding.mend;
  EXPECT_EQ(judge_cores({{0}, {0}, std::nullopt}).mark, Mark::ok) << "there are no others";
}

TEST(DoctorCores, AQuotaBelowTheMaskStopsThreads) {
  const Finding finding = judge_cores({{0, 1, 2, 3}, {0, 1, 2, 3}, 1.5});
  EXPECT_EQ(finding.mark, Mark::warn);
  EXPECT_NE(finding.found.find("the time of 1.5 only"), std::string::npos) << finding.found;
  EXPECT_NE(finding.mend.find("--cpuset-cpus"), std::string::npos);
}

TEST(DoctorCores, AQuotaThatTheMaskCannotExceedIsFine) {
  EXPECT_EQ(judge_cores({{0, 1, 2, 3}, {0, 1}, 2.0}).mark, Mark::ok);
}

TEST(DoctorCores, AKernelThatDoesNotTellIsNoted) {
  EXPECT_EQ(judge_cores({{0, 1}, {}, std::nullopt}).mark, Mark::warn);
  EXPECT_EQ(judge_cores({{}, {0, 1}, std::nullopt}).found,
            "2 online CPUs usable (0-1), no cgroup quota");
}

}  // namespace
}  // namespace unisono::tools
