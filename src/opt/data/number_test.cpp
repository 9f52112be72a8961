// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/number.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>

namespace unisono::opt {
namespace {

float read_whole(const std::string& text) {
  float out = -77;
  const char* const end = text.data() + text.size();
  EXPECT_EQ(read_float(text.data(), end, out), end) << text;
  return out;
}

// strtof rounds correctly in the C library of every machine this runs on.
void expect_as_the_library(const std::string& text) {
  const float here = read_whole(text), there = std::strtof(text.c_str(), nullptr);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(here), std::bit_cast<std::uint32_t>(there)) << text;
}

TEST(Number, OfEveryUsualShapeIsReadToTheLastBit) {
  for (const char* text : {"0", "-0", "1", "+1", "-1", "0.5", ".25", "3.", "1e3", "1E+3", "2.5e-3",
                           "+.5e1", "16777217", "16777216.5", "123456789012345678901234567890",
                           "1e-45", "1.17549435e-38", "1.1754943e-38", "3.4028235e38", "1e-60",
                           "0.000000000000000000000000000000000000012", "9007199254740993",
                           "1.00000005960464477539062500001", "0.1", "0.0147059"}) {
    expect_as_the_library(text);
  }
}

TEST(Number, HalfwayBetweenTwoFloatsGoesToTheRightSide) {
  // 1 + 2^-24 lies between 1 and the next float; digits far behind decide.
  expect_as_the_library("1.000000059604644775390625");
  expect_as_the_library("1.00000005960464478");
  expect_as_the_library("1.00000005960464477");
  expect_as_the_library("1.0000000596046448");
}

TEST(Number, AtRandomIsReadToTheLastBit) {
  std::mt19937_64 random(1);
  char text[64];
  for (int i = 0; i < 200'000; ++i) {
    const double value = std::ldexp(static_cast<double>(random() >> 11) - 0x1p52,
                                    static_cast<int>(random() % 60) - 80);
    std::snprintf(text, sizeof text, "%.*g", static_cast<int>(1 + random() % 17), value);
    expect_as_the_library(text);
  }
}

TEST(Number, ThatIsNoneIsRefused) {
  for (const std::string text : {"", "-", ".", "e5", "abc", "+-1", "--1", "1e", "-e"}) {
    float out = 0;
    const char* const end = text.data() + text.size();
    const char* const stop = read_float(text.data(), end, out);
    EXPECT_TRUE(stop == nullptr || stop != end) << text;
  }
}

TEST(Number, TooLargeIsInfinite) { EXPECT_TRUE(std::isinf(read_whole("1e39"))); }

TEST(Number, AnIndexHasAtMostTenDigits) {
  std::uint64_t out = 0;
  const std::string text = "4294967296:1", longer = "12345678901";
  EXPECT_EQ(read_index(text.data(), text.data() + text.size(), out), text.data() + 10);
  EXPECT_EQ(out, 4294967296u);
  EXPECT_EQ(read_index(longer.data(), longer.data() + longer.size(), out), nullptr);
  EXPECT_EQ(read_index(text.data() + 10, text.data() + text.size(), out), nullptr);
}

}  // namespace
}  // namespace unisono::opt
