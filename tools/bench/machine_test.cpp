// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

TEST(Machine, IsDescribedInOneLine) {
  Machine machine;
  machine.cpu = "Neoverse-N1";
  machine.architecture = "aarch64";
  machine.kernel = "Linux 6.1";
  machine.cores = 2;
  machine.memory_gib = 7.64;
  EXPECT_EQ(describe(machine), "Neoverse-N1 (aarch64), 2 cores, 7.6 GiB, Linux 6.1");
}

TEST(Machine, ThisOneIsKnown) {
  const Machine machine = this_machine();
  EXPECT_NE(machine.cpu, "");
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_gib, 0);
  EXPECT_EQ(machine.versions.at("unisono"), UNISONO_VERSION_TEXT);
  EXPECT_EQ(describe(machine).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace unisono::tools
