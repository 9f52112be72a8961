// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/codec/arguments.hpp"
#include "bench/codec/report.hpp"

#include <nlohmann/json.hpp>

namespace unisono::tools {
namespace {

using ::testing::HasSubstr;

CodecBenchSettings short_tensors(std::vector<std::string> codecs) {
  CodecBenchSettings settings;
  settings.codecs = std::move(codecs);
  settings.lengths = {20'000, 1};
  settings.repeat = 3;
  return settings;
}

TEST(CodecTurns, EveryUsualCodecIsMeasuredAndChecked) {
  const CodecBenchSettings settings = short_tensors(usual_codecs());
  auto rows = measure_codecs(settings, {});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  ASSERT_EQ(rows->size(), 2 * settings.codecs.size());
  for (const CodecBenchRow& row : *rows) {
    EXPECT_TRUE(row.checked) << row.codec;
    EXPECT_EQ(row.encode_us.size(), 3U) << row.codec;
    EXPECT_EQ(row.decode_us.size(), 3U) << row.codec;
    EXPECT_GT(row.bytes_out, 0U) << row.codec;
    EXPECT_EQ(row.bytes, 4 * row.length) << row.codec;
  }
}

TEST(CodecTurns, FewerBitsMakeShorterPacketsAndLargerErrors) {
  auto rows = measure_codecs(short_tensors({"none", "bf16", "qsgd:8", "qsgd:4", "qsgd:2"}), {});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ((*rows)[0].error, 0);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_LT((*rows)[i].bytes_out, (*rows)[i - 1].bytes_out) << (*rows)[i].codec;
    EXPECT_GT((*rows)[i].error, (*rows)[i - 1].error) << (*rows)[i].codec;
  }
}

TEST(CodecTurns, HalfPrecisionTensorsAreEncodedAsTheyAre) {
  CodecBenchSettings settings = short_tensors({"none", "ef|topk:512:4"});
  settings.dtype = DType::bf16;
  auto rows = measure_codecs(settings, {});
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ((*rows)[0].bytes, 40'000U);
  EXPECT_EQ((*rows)[0].error, 0);
}

TEST(CodecReport, RowsAndTableHaveWhatScriptsAndPeopleRelyOn) {
  CodecBenchSettings settings = short_tensors({"qsgd:4"});
  settings.lengths = {1000};
  CodecBenchRow row;
  row.codec = "qsgd:4";
  row.length = 1000;
  row.bytes = 4000;
  row.bytes_out = 500;
  row.encode_us = {9, 10, 11};
  row.decode_us = {4, 5, 6};
  row.memcpy_us = 2;
  row.error = 0.125;
  row.checked = true;
  const auto document = nlohmann::json::parse(codec_json(settings, {}, {row}));
  const auto& found = document["results"][0];
  EXPECT_EQ(found["codec"], "qsgd:4");
  EXPECT_EQ(found["encode_us"], 10);
  EXPECT_EQ(found["decode_us"], 5);
  EXPECT_EQ(found["bytes_out"], 500);
  EXPECT_DOUBLE_EQ(found["of_memcpy"].get<double>(), 0.2);
  EXPECT_DOUBLE_EQ(found["ratio"].get<double>(), 8);
  EXPECT_DOUBLE_EQ(found["relative_error"].get<double>(), 0.125);
  EXPECT_TRUE(found["checked"].get<bool>());
  const std::string text = codec_table(settings, {}, {row});
  EXPECT_THAT(text, HasSubstr("0.200x"));
  EXPECT_THAT(text, HasSubstr("a memcpy takes 2.0 us"));
}

}  // namespace
}  // namespace unisono::tools
