// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/limit.hpp"

#include <gtest/gtest.h>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

TEST(MemoryLimit, TimesEveryCallAndChecksWhatTheThreadsLeft) {
  for (const int ranks : {1, 2, 3}) {
    MemoryLimit limit(ranks);
    for (const std::int64_t bytes : {1, 64, 100, 5000}) {
      SCOPED_TRACE(cat(ranks, " ranks, ", bytes, " bytes"));
      ASSERT_TRUE(limit.set_up(work_for(Collective::allreduce, DType::f32, bytes, ranks)).ok());
      for (const int seed : {1, 2}) {
        const auto block = limit.run_block(4, seed);
        ASSERT_TRUE(block.ok());
        EXPECT_EQ(block.value().times_us.size(), 4U);
        EXPECT_TRUE(block.value().checked) << "seed " << seed;
      }
    }
  }
}

TEST(MemoryLimit, WithoutAPassThroughMemoryNothingIsRight) {
  MemoryLimit limit(2);
  ASSERT_TRUE(limit.set_up(work_for(Collective::allreduce, DType::f32, 100, 2)).ok());
  const auto block = limit.run_block(0, 1);
  ASSERT_TRUE(block.ok());
  EXPECT_FALSE(block.value().checked);
  EXPECT_TRUE(block.value().times_us.empty());
}

}  // namespace
}  // namespace unisono::tools
