// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/cgroup.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

using Folders = std::vector<std::string>;

TEST(DoctorCgroup, AProcessIsLimitedByItsOwnGroupAndAllAroundIt) {
  EXPECT_EQ(cgroup_folders("0::/user.slice/job.service\n", "cpu"),
            (Folders{"/sys/fs/cgroup/user.slice/job.service", "/sys/fs/cgroup/user.slice",
                     "/sys/fs/cgroup"}));
  EXPECT_EQ(cgroup_folders("0::/\n", "cpu"), (Folders{"/sys/fs/cgroup"}));
}

TEST(DoctorCgroup, VersionOneNamesItsControllers) {
  const char* text = "12:memory:/docker/ab\n4:cpu,cpuacct:/docker/ab\n1:cpuset:/docker/ab\n";
  EXPECT_EQ(cgroup_folders(text, "cpu"),
            (Folders{"/sys/fs/cgroup/cpu,cpuacct/docker/ab", "/sys/fs/cgroup/cpu,cpuacct/docker",
                     "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu/docker/ab",
                     "/sys/fs/cgroup/cpu/docker", "/sys/fs/cgroup/cpu"}));
  EXPECT_EQ(cgroup_folders(text, "memory").front(), "/sys/fs/cgroup/memory/docker/ab");
}

TEST(DoctorCgroup, APathOutsideOfTheNamespaceLeavesTheTop) {
  EXPECT_EQ(cgroup_folders("0::/../../other\n", "cpu"), (Folders{"/sys/fs/cgroup"}));
}

TEST(DoctorCgroup, NonsenseNamesNoFolder) {
  EXPECT_TRUE(cgroup_folders("", "cpu").empty());
  EXPECT_TRUE(cgroup_folders("nothing\n0:\n", "cpu").empty());
}

TEST(DoctorCgroup, AQuotaIsCountedInCpus) {
  EXPECT_DOUBLE_EQ(parse_cpu_max("150000 100000\n").value(), 1.5);
  EXPECT_FALSE(parse_cpu_max("max 100000\n"));
  EXPECT_FALSE(parse_cpu_max(""));
  EXPECT_FALSE(parse_cpu_max("100000 0"));
  EXPECT_DOUBLE_EQ(parse_cfs_quota("200000\n", "100000\n").value(), 2);
  EXPECT_FALSE(parse_cfs_quota("-1\n", "100000\n"));
}

TEST(DoctorCgroup, AMemoryLimitThatIsNoneIsNone) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1 << 30);
  EXPECT_FALSE(parse_memory_limit("max\n"));
  EXPECT_FALSE(parse_memory_limit("9223372036854771712\n"));
  EXPECT_FALSE(parse_memory_limit(""));
}

}  // namespace
}  // namespace unisono::tools
