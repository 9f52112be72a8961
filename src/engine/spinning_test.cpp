// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/spinning.hpp"

#include <gtest/gtest.h>

namespace unisono::engine {
namespace {

TEST(Spinning, CountsFromTheLookThatFoundNothingToTheNextOne) {
  Spinning spinning;
  EXPECT_EQ(spinning.looked(false, true, Time{100}), Nanos(0));
  EXPECT_EQ(spinning.looked(false, true, Time{130}), Nanos(30));
  EXPECT_EQ(spinning.looked(false, false, Time{150}), Nanos(20));
  EXPECT_EQ(spinning.looked(false, false, Time{900}), Nanos(0));
}

TEST(Spinning, WorkIsNoSpinning) {
  Spinning spinning;
  EXPECT_EQ(spinning.looked(true, true, Time{100}), Nanos(0));
  EXPECT_EQ(spinning.looked(true, true, Time{180}), Nanos(0));
  EXPECT_EQ(spinning.looked(false, true, Time{200}), Nanos(20));
}

TEST(Spinning, AThreadThatSleptBeforeHasNotSpun) {
  Spinning spinning;
  EXPECT_EQ(spinning.looked(false, false, Time{100}), Nanos(0));
  EXPECT_EQ(spinning.looked(false, true, Time{5'000}), Nanos(0));
  EXPECT_EQ(spinning.looked(false, true, Time{5'001}), Nanos(1));
}

}  // namespace
}  // namespace unisono::engine
