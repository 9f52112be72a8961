// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "bench/wire.hpp"
#include "exit_codes.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

TEST(BenchWorker, OneStartedByHandSaysWhoStartsIt) {
  for (const char* missing : {kSocketVariable, kGroupVariable}) {
    ASSERT_EQ(::setenv(kSocketVariable, "unisono-no-such-bench", 1), 0);
    ASSERT_EQ(::setenv(kGroupVariable, "0", 1), 0);
    ASSERT_EQ(::unsetenv(missing), 0);
    int code = kSuccess;
    const Printed printed = printed_by([&] { code = serve_as_bench_worker("named"); });
    EXPECT_EQ(code, kWrongUsage);
    EXPECT_THAT(printed.err, testing::HasSubstr("started by unisono bench"));
  }
  ::unsetenv(kSocketVariable);
  ::unsetenv(kGroupVariable);
}

}  // namespace
}  // namespace unisono::tools
