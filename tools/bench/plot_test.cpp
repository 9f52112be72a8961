// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace unisono::tools {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Picture {
  BenchSettings settings;
  Machine machine;
  Measurement measured;

  Picture() {
    settings.dtypes = {DType::f32};
    machine.cpu = "Chip";
  }
  Row& add(const std::string& impl, std::int64_t bytes, double median_us) {
    Row row;
    row.label = {impl, "auto", "shm"};
    row.bytes = bytes;
    row.median_us = median_us;
    return measured.rows.emplace_back(std::move(row));
  }
  std::string svg() const { return plot_svg(settings, machine, measured); }
};

int times_in(std::string_view text, std::string_view part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

// The number after the occurrence of `key` with this index.
double number_at(const std::string& text, std::string_view key, int index) {
  std::size_t at = text.find(key);
  for (; index > 0 && at != std::string::npos; --index) at = text.find(key, at + key.size());
  EXPECT_NE(at, std::string::npos) << key;
  return at == std::string::npos ? 0 : std::atof(text.c_str() + at + key.size());
}

TEST(Plot, EachContenderHasALineWithADotPerSize) {
  Picture picture;
  for (const char* impl : {"unisono", "gloo", "limit"}) {
    picture.add(impl, 8, 10);
    picture.add(impl, 64 << 10, 200);
  }
  const std::string svg = picture.svg();
  EXPECT_THAT(svg, StartsWith("<?xml"));
  EXPECT_THAT(svg, EndsWith("</svg>\n"));
  EXPECT_EQ(times_in(svg, "<polyline"), 3);
  EXPECT_EQ(times_in(svg, "<circle"), 6);
  EXPECT_EQ(times_in(svg, "stroke-dasharray"), 1) << "the limit alone";
  EXPECT_THAT(svg, HasSubstr("gloo, 64 KiB: 200 µs"));
}

TEST(Plot, MoreBytesLieToTheRightAndMoreTimeLiesHigher) {
  Picture picture;
  picture.add("unisono", 8, 10);
  picture.add("unisono", 1024, 1000);
  const std::string svg = picture.svg();
  EXPECT_LT(number_at(svg, "cx=\"", 0), number_at(svg, "cx=\"", 1));
  EXPECT_GT(number_at(svg, "cy=\"", 0), number_at(svg, "cy=\"", 1));
}

TEST(Plot, EveryDotLiesWithinThePicture) {
  Picture picture;
  picture.add("unisono", 1, 0.001);
  picture.add("unisono", std::int64_t{1} << 40, 5e9);
  const std::string svg = picture.svg();
  for (const int dot : {0, 1}) {
    EXPECT_GE(number_at(svg, "cx=\"", dot), 0);
    EXPECT_LE(number_at(svg, "cx=\"", dot), 960);
    EXPECT_GE(number_at(svg, "cy=\"", dot), 0);
    EXPECT_LE(number_at(svg, "cy=\"", dot), 600);
  }
}

TEST(Plot, NothingMeasuredAndNoTimeAtAllCanBeDrawn) {
  Picture empty, instant;
  instant.add("unisono", 8, 0);
  for (const std::string& svg : {empty.svg(), instant.svg()}) {
    EXPECT_THAT(svg, EndsWith("</svg>\n"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
  EXPECT_EQ(times_in(empty.svg(), "<polyline"), 0);
  EXPECT_EQ(times_in(instant.svg(), "<circle"), 1);
}

TEST(Plot, NamesAreText) {
  Picture picture;
  picture.machine.cpu = "Chip<&>";
  picture.add("a<b", 8, 10);
  const std::string svg = picture.svg();
  EXPECT_THAT(svg, HasSubstr("Chip&lt;&amp;&gt;"));
  EXPECT_THAT(svg, HasSubstr("<title>a&lt;b, 8"));
  EXPECT_THAT(svg, Not(HasSubstr("a<b")));
}

TEST(Plot, SeveralElementTypesAreSeveralLines) {
  Picture picture;
  picture.settings.dtypes = {DType::f32, DType::bf16};
  picture.add("unisono", 8, 10);
  picture.add("unisono", 8, 20).dtype = DType::bf16;
  const std::string svg = picture.svg();
  EXPECT_EQ(times_in(svg, "<polyline"), 2);
  EXPECT_THAT(svg, HasSubstr(">unisono fp32<"));
  EXPECT_THAT(svg, HasSubstr(">unisono bf16<"));
  EXPECT_THAT(svg, HasSubstr("fp32 and others"));
}

}  // namespace
}  // namespace unisono::tools
