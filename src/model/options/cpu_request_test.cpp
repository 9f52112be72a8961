// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/options/cpu_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unisono/options.hpp"

namespace unisono {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CpuRequest, ReadsItsThreeForms) {
  EXPECT_TRUE(parse_cpu_request("off")->off());
  EXPECT_EQ(parse_cpu_request(" 0.25 ")->fraction, 0.25);
  const auto lists = parse_cpu_request("engine=0-1; input=2 ;compute=4-6,9");
  ASSERT_TRUE(lists.has_value());
  EXPECT_FALSE(lists->off());
  EXPECT_THAT(lists->engine, ElementsAre(0, 1));
  EXPECT_THAT(lists->input, ElementsAre(2));
  EXPECT_THAT(lists->compute, ElementsAre(4, 5, 6, 9));
  EXPECT_THAT(parse_cpu_request("engine=0;input=;compute=1")->input, IsEmpty());
}

TEST(CpuRequest, RefusesWhatCannotBeMeant) {
  for (const char* text : {"",
                           "on",
                           "0",
                           "1",
                           "-0.5",
                           "1.5",
                           "nan",
                           "engine=0",
                           "compute=1",
                           "engine=0;compute=",
                           "engine=0;compute=0",
                           "engine=0-2;input=2;compute=3",
                           "engine=0;engine=1;compute=2",
                           "engine=0;compute=1;gpu=2",
                           "engine=0;compute",
                           "engine=a;compute=1",
                           "engine=2-1;compute=3",
                           "engine=-1;compute=3",
                           "engine=0,;compute=3",
                           "engine=,0;compute=3",
                           "engine=0;compute=1024",
                           "engine=0;;compute=1",
                           "engine=0-;compute=3",
                           "engine=0-1-2;compute=3"}) {
    EXPECT_FALSE(parse_cpu_request(text).has_value()) << text;
  }
}

TEST(CpuRequest, WritesListsAsTheKernelDoes) {
  EXPECT_EQ(cpu_list_text(std::vector<int>{}), "");
  EXPECT_EQ(cpu_list_text(std::vector<int>{0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_THAT(*parse_cpu_list("0-2,5,7-8\n"), ElementsAre(0, 1, 2, 5, 7, 8));
}

TEST(CpuRequest, OptionErrorNamesTheForms) {
  Options options;
  EXPECT_TRUE(options.set("cpu_sets", "engine=0;compute=1-3").ok());
  EXPECT_EQ(options.get("cpu_sets"), "engine=0;compute=1-3");
  const Status status = options.set("cpu_sets", "engine=0;compute=0");
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("engine=0-1;input=2-3;compute=4-15"));
}

}  // namespace
}  // namespace unisono
