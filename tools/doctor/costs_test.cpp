// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/costs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "testing/folder.hpp"

namespace unisono::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

MeasuredCosts sample() { return {{"n1", "n2"}, {1.1, 60}, {3, 20}, 9}; }

TEST(Costs, WhatIsWrittenIsRead) {
  const TestFolder folder;
  const std::string path = folder.path() + "/new/costs.json";
  ASSERT_TRUE(write_costs(path, sample()).ok());
  const auto read = read_costs(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(costs_json(read.value()), costs_json(sample()));
}

TEST(Costs, AFileThatIsMissingOrTornIsNamedWithTheReasonAndTheMend) {
  const TestFolder folder;
  const std::string good = costs_json(sample());
  EXPECT_THAT(read_costs(folder.path() + "/none").status().message(),
              AllOf(HasSubstr("/none: there is no file"), HasSubstr("unisono doctor -H HOST")));
  for (std::size_t length = 0; length + 1 < good.size(); ++length) {
    const auto read = read_costs(folder.file("torn.json", good.substr(0, length)));
    EXPECT_THAT(read.status().message(), HasSubstr("torn.json: ")) << length;
  }
  const auto complaint = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return read_costs(folder.file("odd.json", text)).status().message();
  };
  EXPECT_THAT(complaint("\"unisono_costs\": 1", "\"unisono_costs\": 2"), HasSubstr("no file of"));
  EXPECT_THAT(complaint("1.1", "-1"), HasSubstr("\"wire.gb_per_s\" cannot be -1"));
  EXPECT_THAT(complaint("1.1", "[]"), HasSubstr("\"wire.gb_per_s\" is missing or no number"));
  EXPECT_THAT(complaint("memory", "memories"), HasSubstr("\"memory\" is missing"));
}

}  // namespace
}  // namespace unisono::tools
