// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/kernel.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace unisono::tools {
namespace {

TEST(DoctorKernel, NamesTheCallsThatWork) {
  const Finding finding = judge_kernel_calls({{"a", true, true, ""}, {"b", true, false, ""}});
  EXPECT_EQ(finding.mark, Mark::ok);
  EXPECT_EQ(finding.found, "a, b work");
}

TEST(DoctorKernel, AMissingCallComesWithWhatHappensInstead) {
  const Finding finding =
      judge_kernel_calls({{"a", true, true, ""}, {"b", false, false, "slower"}});
  EXPECT_EQ(finding.mark, Mark::warn);
  EXPECT_EQ(finding.found, "no b: slower");
  EXPECT_NE(finding.mend.find("seccomp"), std::string::npos);
}

TEST(DoctorKernel, AMissingCallThatIsNeededFails) {
  EXPECT_EQ(judge_kernel_calls({{"a", false, true, "nothing works"}}).mark, Mark::fail);
}

TEST(DoctorKernel, FewDescriptorsAreRaisedUpToTheHardLimit) {
  EXPECT_EQ(judge_descriptors(1024, 4096).mark, Mark::ok);
  EXPECT_NE(judge_descriptors(1024, 4096).found.find("448 ranks"), std::string::npos);
  const Finding few = judge_descriptors(256, 4096);
  EXPECT_EQ(few.mark, Mark::warn);
  EXPECT_NE(few.mend.find("ulimit -n 4096"), std::string::npos) << few.mend;
  const Finding none_left = judge_descriptors(40, 40);
  EXPECT_EQ(none_left.mark, Mark::fail);
  EXPECT_NE(none_left.mend.find("limits.conf"), std::string::npos) << none_left.mend;
  EXPECT_EQ(judge_descriptors(~0ull, ~0ull).found, "unlimited (at most unlimited)");
}

TEST(DoctorKernel, WithoutEntropyNoKeyCanBeMade) {
  EXPECT_EQ(judge_random(0).mark, Mark::ok);
  EXPECT_EQ(judge_random(EAGAIN).mark, Mark::fail);
  EXPECT_EQ(judge_random(ENOSYS).mark, Mark::warn);
}

TEST(DoctorKernel, WithoutAesTheSealIsNamed) {
  EXPECT_EQ(judge_aes(true, "AES-256-GMAC").mark, Mark::ok);
  const Finding finding = judge_aes(false, "ChaCha20-Poly1305");
  EXPECT_EQ(finding.mark, Mark::warn);
  EXPECT_NE(finding.found.find("ChaCha20-Poly1305"), std::string::npos);
}

TEST(DoctorKernel, ThisMachineIsExamined) {
  const auto findings = check_kernel();
  ASSERT_EQ(findings.size(), 4U);
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.found.empty()) << finding.check;
    EXPECT_EQ(finding.mend.empty(), finding.mark == Mark::ok) << finding.check;
  }
}

}  // namespace
}  // namespace unisono::tools
