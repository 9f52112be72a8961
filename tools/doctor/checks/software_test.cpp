// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/software.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

TEST(DoctorSoftware, APythonsAnswerMayComeAfterOtherLines) {
  const auto facts = parse_python_answer(
      "a line of sitecustomize\n"
      "UNISONO-PYTHON {\"python\": \"3.11.2\", \"executable\": \"/v/bin/python3\", "
      "\"packages\": {\"torch\": \"2.6.0\", \"odd\": 7}}\nand one more\n");
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->version, "3.11.2");
  EXPECT_EQ(facts->executable, "/v/bin/python3");
  EXPECT_EQ(facts->packages, (Versions{{"torch", "2.6.0"}}));
}

TEST(DoctorSoftware, APythonThatSaysSomethingElseHasNotAnswered) {
  for (const char* text : {"", "UNISONO-PYTHON ", "UNISONO-PYTHON {", "UNISONO-PYTHON []",
                           "UNISONO-PYTHON {\"packages\": 3}", "{\"packages\": {}}"}) {
    EXPECT_FALSE(parse_python_answer(text)) << text;
  }
}

TEST(DoctorSoftware, PythonIsNamedWithItsFrameworks) {
  PythonTried tried{"/v/bin/python3", true, PythonFacts{"3.11.2", "/v/bin/python3", {}}, ""};
  EXPECT_EQ(judge_python(tried, "0.1.0").found, "3.11.2 (/v/bin/python3), no framework");
  tried.facts->packages = {{"numpy", "2.4"}, {"unisono", "0.1.0"}};
  EXPECT_EQ(judge_python(tried, "0.1.0").mark, Mark::ok);
  EXPECT_EQ(judge_python(tried, "0.1.0").found,
            "3.11.2 (/v/bin/python3), numpy 2.4, unisono 0.1.0");
}

TEST(DoctorSoftware, APackageOfAnotherVersionThanTheCommandIsAWarning) {
  const PythonTried tried{"python3", true,
                          PythonFacts{"3.11.2", "/v/bin/python3", {{"unisono", "0.0.9"}}}, ""};
  const Finding finding = judge_python(tried, "0.1.0");
  EXPECT_EQ(finding.mark, Mark::warn);
  EXPECT_NE(finding.mend.find("/v/bin/unisono"), std::string::npos) << finding.mend;
}

TEST(DoctorSoftware, NoPythonIsNoProblemButABrokenOneIs) {
  EXPECT_EQ(judge_python({"", true, std::nullopt, ""}, "0.1.0").mark, Mark::ok);
  EXPECT_EQ(judge_python({"python3", false, std::nullopt, ""}, "0.1.0").mark, Mark::warn);
  const Finding broken =
      judge_python({"python3", true, std::nullopt, "No module named 'encodings'"}, "0.1.0");
  EXPECT_EQ(broken.mark, Mark::warn);
  EXPECT_NE(broken.found.find("encodings"), std::string::npos);
}

TEST(DoctorSoftware, VersionsAreTakenFromWhatCommandsPrint) {
  EXPECT_EQ(parse_mpi_version("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://x\n"),
            "Open MPI 4.1.4");
  EXPECT_EQ(parse_mpi_version("HYDRA build details:\n    Version:            4.0.2\n    CC: gcc\n"),
            "MPICH 4.0.2");
  EXPECT_EQ(parse_mpi_version("Intel(R) MPI Library for Linux* OS, Version 2021.9\nmore\n"),
            "Intel(R) MPI Library for Linux* OS, Version 2021.9");
  EXPECT_EQ(parse_mpi_version(""), "");
  EXPECT_EQ(parse_ucx_version("# Library version: 1.13.1\n# API headers version: 1.13.1\n"),
            "1.13.1");
  EXPECT_EQ(parse_ucx_version("# UCT version=1.8.1 revision 0\n"), "1.8.1");
  EXPECT_EQ(parse_ucx_version("nothing"), "");
  EXPECT_EQ(parse_ssh_version("OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.11\n"), "OpenSSH_9.2p1");
}

TEST(DoctorSoftware, TheVersionOfNcclIsInItsHeader) {
  EXPECT_EQ(parse_nccl_header("#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n"
                              "#define NCCL_PATCH 9\n#define NCCL_SUFFIX \"\"\n"),
            "2.28.9");
  EXPECT_EQ(parse_nccl_header("#define NCCL_MAJOR 2\n"), "");
  EXPECT_EQ(parse_nccl_header(""), "");
}

TEST(DoctorSoftware, VersionsAreTakenFromNamesOfFiles) {
  EXPECT_EQ(library_version("/usr/lib/libnccl.so.2.18.3", "libnccl.so"), "2.18.3");
  EXPECT_EQ(library_version("libnccl.so", "libnccl.so"), "");
  EXPECT_EQ(library_version("libncclx.so.1", "libnccl.so"), "");
  EXPECT_EQ(loaded_version("7f00-7f01 r-xp 0 fe:00 12   /usr/lib/libm.so.6\n"
                           "7f02-7f03 r-xp 0 fe:00 13   /usr/lib/libstdc++.so.6.0.30\n",
                           "libstdc++.so"),
            "6.0.30");
  EXPECT_EQ(loaded_version("7f00-7f01 rw-p 0 00:00 0 [heap]\n", "libstdc++.so"), "");
}

}  // namespace
}  // namespace unisono::tools
