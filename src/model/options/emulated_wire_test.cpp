// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/options/emulated_wire.hpp"

#include <gtest/gtest.h>

#include "unisono/options.hpp"

namespace unisono {
namespace {

TEST(EmulatedWire, ReadsTimesWithTheirUnits) {
  const auto wire = parse_emulated_wire("alpha=0.5ms, beta = 8ns");
  ASSERT_TRUE(wire.has_value());
  EXPECT_DOUBLE_EQ(wire->alpha_s, 0.5e-3);
  EXPECT_DOUBLE_EQ(wire->beta_s, 8e-9);
  EXPECT_DOUBLE_EQ(wire->seconds(1'000'000), 0.5e-3 + 8e-3);
  EXPECT_DOUBLE_EQ(parse_emulated_wire("beta=1e-9")->beta_s, 1e-9);
  EXPECT_DOUBLE_EQ(parse_emulated_wire("alpha=20us")->alpha_s, 20e-6);
  EXPECT_DOUBLE_EQ(parse_emulated_wire("alpha=2s")->alpha_s, 2);
  EXPECT_TRUE(parse_emulated_wire("off")->off());
  EXPECT_TRUE(parse_emulated_wire("alpha=0")->off());
}

TEST(EmulatedWire, RefusesWhatIsNoNetwork) {
  for (const char* text : {"", "on", "alpha", "alpha=", "alpha=-1ms", "alpha=1m", "alpha=61s",
                           "alpha=nan", "alpha=inf", "gamma=1ms", "alpha=1ms,",
                           "alpha=1ms,alpha=2ms", "beta=8ns,alpha=1 ms ms", "=1ms"}) {
    EXPECT_FALSE(parse_emulated_wire(text).has_value()) << text;
  }
}

TEST(EmulatedWire, AllRanksMustEmulateTheSame) {
  Options one, two;
  ASSERT_TRUE(one.set("emulate", "alpha=1ms").ok());
  EXPECT_NE(one.agreed_text(), two.agreed_text());
  const Status wrong = two.set("emulate", "alpha=1hour");
  EXPECT_NE(wrong.message().find("off, or alpha"), std::string::npos) << wrong.message();
}

}  // namespace
}  // namespace unisono
