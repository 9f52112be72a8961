// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/folder.hpp"

namespace unisono::tools {
namespace {

using testing::HasSubstr;

Result<sim::Workload> traced(const std::string& text) {
  const TestFolder folder;
  return read_trace(folder.file("step.json", text));
}

TEST(Trace, TensorsAreSortedByWhenTheyAreReady) {
  const auto workload = traced(R"({"tensors": [{"name": "late", "bytes": 8, "ready_us": 20},
                                   {"name": "soon", "bytes": 4, "ready_us": 1.5}]})");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  ASSERT_EQ(workload.value().tensors.size(), 2U);
  EXPECT_EQ(workload.value().tensors[0].name, "soon");
  EXPECT_EQ(workload.value().tensors[0].ready_us, 1.5);
  EXPECT_EQ(workload.value().bytes(), 12);
}

TEST(Trace, AStepTakesAsLongAsItSaysButNoLessThanItsLastTensor) {
  const auto compute_of = [](const std::string& more) {
    const auto workload =
        traced(R"({"tensors": [{"name": "a", "bytes": 8, "ready_us": 20}])" + more + "}");
    EXPECT_TRUE(workload.ok()) << workload.status().message();
    return workload.ok() ? workload.value().compute_us : -1;
  };
  EXPECT_EQ(compute_of(""), 20);
  EXPECT_EQ(compute_of(R"(, "compute_us": 50)"), 50);
  EXPECT_EQ(compute_of(R"(, "compute_us": 5)"), 20);
}

TEST(Trace, AFileThatIsNoTraceIsNamedWithTheForm) {
  for (const char* text : {"", "{", "[]", "{}", R"({"tensors": 3})", R"({"tensors": [3]})",
                           R"({"tensors": [{"name": "a", "bytes": 8}]})",
                           R"({"tensors": [{"bytes": 8, "ready_us": 1}]})",
                           R"({"tensors": [{"name": 1, "bytes": 8, "ready_us": 1}]})",
                           R"({"tensors": [{"name": "a", "bytes": "8", "ready_us": 1}]})"}) {
    const auto workload = traced(text);
    ASSERT_FALSE(workload.ok()) << text;
    EXPECT_EQ(workload.status().code(), Code::invalid_argument);
    EXPECT_THAT(workload.status().message(), HasSubstr("step.json: it is not {\"tensors\":"));
  }
}

TEST(Trace, ImpossibleTensorsAreNamed) {
  EXPECT_THAT(traced(R"({"tensors": []})").status().message(), HasSubstr("lists no tensors"));
  for (const char* figures : {R"("bytes": 0, "ready_us": 1)", R"("bytes": 8, "ready_us": -1)"}) {
    const auto workload =
        traced(std::string(R"({"tensors": [{"name": "odd", )") + figures + "}]}");
    EXPECT_THAT(workload.status().message(), HasSubstr("tensor odd needs bytes above 0"));
  }
  const auto twice = traced(R"({"tensors": [{"name": "a", "bytes": 8, "ready_us": 1},
                                            {"name": "a", "bytes": 8, "ready_us": 2}]})");
  EXPECT_THAT(twice.status().message(), HasSubstr("tensor a is listed twice"));
}

TEST(Trace, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(read_trace("/no/such/trace.json").status().message(),
              HasSubstr("--trace /no/such/trace.json: the file cannot be read"));
}

}  // namespace
}  // namespace unisono::tools
