// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/memory.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

constexpr std::int64_t kGiB = 1 << 30;

TEST(DoctorMemory, IsReadFromTheKernelsText) {
  const char* text = "MemTotal:       8000000 kB\nMemFree: 5 kB\nMemAvailable:   42 kB\n";
  EXPECT_EQ(parse_meminfo(text, "MemTotal"), 8'000'000LL * 1024);
  EXPECT_EQ(parse_meminfo(text, "MemAvailable"), 42 * 1024);
  EXPECT_FALSE(parse_meminfo(text, "Mem"));
  EXPECT_FALSE(parse_meminfo("MemTotal: much\n", "MemTotal"));
  EXPECT_FALSE(parse_meminfo("", "MemTotal"));
}

TEST(DoctorMemory, SizesAreShort) {
  EXPECT_EQ(size_text(64 << 20), "64 MiB");
  EXPECT_EQ(size_text(kGiB + kGiB / 2), "1.5 GiB");
}

TEST(DoctorMemory, EnoughIsFine) {
  const Finding finding = judge_memory(8 * kGiB, 4 * kGiB, std::nullopt);
  EXPECT_EQ(finding.mark, Mark::ok);
  EXPECT_EQ(finding.found, "8.0 GiB, 4.0 GiB available");
}

TEST(DoctorMemory, TheContainersLimitCountsWhenItIsTighter) {
  const Finding tight = judge_memory(8 * kGiB, 4 * kGiB, CgroupMemory{kGiB, kGiB - 1024});
  EXPECT_EQ(tight.mark, Mark::warn);
  EXPECT_NE(tight.mend.find("--memory"), std::string::npos);
  EXPECT_EQ(judge_memory(8 * kGiB, 4 * kGiB, CgroupMemory{16 * kGiB, kGiB}).found,
            "8.0 GiB, 4.0 GiB available")
      << "a limit above the memory is none";
}

TEST(DoctorMemory, LittleOrUnknownMemoryIsAWarning) {
  EXPECT_EQ(judge_memory(8 * kGiB, kGiB / 4, std::nullopt).mark, Mark::warn);
  EXPECT_EQ(judge_memory(std::nullopt, std::nullopt, std::nullopt).mark, Mark::warn);
}

TEST(DoctorMemory, DockersDefaultShmIsTooSmallForOthers) {
  const Finding finding = judge_dev_shm(FileSystemRoom{64 << 20, 64 << 20});
  EXPECT_EQ(finding.mark, Mark::warn);
  EXPECT_NE(finding.found.find("unisono does not use it"), std::string::npos);
  EXPECT_NE(finding.mend.find("--shm-size"), std::string::npos);
  EXPECT_EQ(judge_dev_shm(FileSystemRoom{8 * kGiB, 8 * kGiB}).mark, Mark::ok);
  EXPECT_EQ(judge_dev_shm(FileSystemRoom{8 * kGiB, 1 << 20}).mark, Mark::warn);
  EXPECT_EQ(judge_dev_shm(std::nullopt).mark, Mark::warn);
}

TEST(DoctorMemory, WithoutMemfdThereIsTcp) {
  EXPECT_EQ(judge_memfd("").mark, Mark::ok);
  const Finding finding = judge_memfd("memfd_create: Operation not permitted");
  EXPECT_EQ(finding.mark, Mark::warn);
  EXPECT_NE(finding.found.find("use TCP instead"), std::string::npos);
  EXPECT_NE(finding.found.find("memfd_create: Operation not permitted"), std::string::npos);
}

}  // namespace
}  // namespace unisono::tools
