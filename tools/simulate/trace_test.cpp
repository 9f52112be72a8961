// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/text.hpp"
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

TEST(Trace, AFolderIsNamedAsSuch) {
  EXPECT_THAT(read_trace(testing::TempDir()).status().message(), HasSubstr("it is a folder"));
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

TEST(Trace, ForwardTimesAreReadWhereThereAreAny) {
  auto workload =
      traced(R"({"tensors": [{"name": "a", "bytes": 8, "ready_us": 20, "forward_us": 2.5},
                             {"name": "b", "bytes": 4, "ready_us": 30}],
                 "compute_us": 40, "forward_us": 10})");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->tensors[0].forward_us, 2.5);
  EXPECT_EQ(workload->tensors[1].forward_us, 0);
  EXPECT_EQ(workload->forward_us, 10);
  EXPECT_EQ(traced(R"({"tensors": [{"name": "a", "bytes": 8, "ready_us": 2}]})")->forward_us, 0);
}

TEST(Trace, AnErrorSaysWhereInTheFileAndWhy) {
  const auto complaint = [](const std::string& text) {
    const auto workload = traced(text);
    EXPECT_FALSE(workload.ok()) << text;
    return workload.ok() ? "" : workload.status().message();
  };
  const auto of_second = [&](const std::string& entry) {
    return complaint(R"({"tensors": [{"name": "a", "bytes": 8, "ready_us": 1}, )" + entry + "]}");
  };
  EXPECT_THAT(complaint("{\n  \"tensors\": [,]}"), HasSubstr("parse error at line 2, column 15"));
  EXPECT_THAT(complaint("[]"), HasSubstr("]}: not an object"));
  EXPECT_THAT(complaint("{}"), HasSubstr("\"tensors\" is missing"));
  EXPECT_THAT(complaint(R"({"tensors": {}})"), HasSubstr("\"tensors\" is not a list"));
  EXPECT_THAT(of_second("7"), HasSubstr("tensors[1]: not an object"));
  EXPECT_THAT(of_second(R"({"bytes": 8, "ready_us": 1})"),
              HasSubstr("tensors[1]: \"name\" is missing"));
  EXPECT_THAT(of_second(R"({"name": [], "bytes": 8, "ready_us": 1})"),
              HasSubstr("tensors[1]: \"name\" is not a text"));
  EXPECT_THAT(of_second(R"({"name": "b", "ready_us": 1})"),
              HasSubstr("tensors[1]: \"bytes\" is missing"));
  EXPECT_THAT(of_second(R"({"name": "b", "bytes": 8.5, "ready_us": 1})"),
              HasSubstr("tensors[1]: \"bytes\" is not a whole number"));
  EXPECT_THAT(of_second(R"({"name": "b", "bytes": 8, "ready_us": true})"),
              HasSubstr("tensors[1]: \"ready_us\" is not a number"));
  EXPECT_THAT(of_second(R"({"name": "b", "bytes": 8, "ready_us": 1, "forward_us": null})"),
              HasSubstr("tensors[1]: \"forward_us\" is not a number"));
  EXPECT_THAT(of_second(R"({"name": "b", "bytes": 8, "ready_us": 1, "forward_us": 2})"),
              HasSubstr("step.json: tensor b has its gradient (ready_us) before"));
  for (const char* key : {"compute_us", "forward_us"}) {
    EXPECT_THAT(complaint(cat(R"({"tensors": [], ")", key, R"(": "1"})")),
                HasSubstr(cat('"', key, "\" is not a number")));
  }
}

TEST(Trace, ATraceThatIsCutOffAnywhereIsRefused) {
  const std::string whole =
      R"({"tensors": [{"name": "a", "bytes": 8, "ready_us": 20, "forward_us": 2}],
          "compute_us": 40, "forward_us": 10})";
  ASSERT_TRUE(traced(whole).ok());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto workload = traced(whole.substr(0, length));
    ASSERT_FALSE(workload.ok()) << length;
    EXPECT_THAT(workload.status().message(), HasSubstr("step.json: it is not {\"tensors\":"));
    EXPECT_THAT(workload.status().message(), HasSubstr("parse error at line ")) << length;
  }
}

TEST(Trace, EnormousNumbersAreRefusedAndNotWrappedAround) {
  const auto complaint = [](const std::string& figures) {
    const auto workload = traced(R"({"tensors": [{"name": "a", )" + figures + "}]}");
    EXPECT_FALSE(workload.ok()) << figures;
    return workload.ok() ? "" : workload.status().message();
  };
  for (const char* bytes : {"18446744073709551615", "-18446744073709551615", "1e300"}) {
    EXPECT_THAT(complaint(cat(R"("bytes": )", bytes, R"(, "ready_us": 1)")),
                HasSubstr("\"bytes\" is not a whole number that can be counted"));
  }
  EXPECT_THAT(complaint(R"("bytes": 1e400, "ready_us": 1)"), HasSubstr("number overflow"));
  EXPECT_THAT(complaint(R"("bytes": 2e18, "ready_us": 1)"), HasSubstr("bytes of at most 10^18"));
  EXPECT_THAT(complaint(R"("bytes": 8, "ready_us": 1e300)"), HasSubstr("at most 10^12"));
  EXPECT_THAT(complaint(R"("bytes": 8, "ready_us": 1, "forward_us": 1e300)"),
              HasSubstr("before the forward pass"));
}

TEST(Trace, ALongTraceIsReadAndOneThatIsTooLongIsNot) {
  const auto many = [](int count) {
    std::string text = R"({"tensors": [)";
    for (int i = 0; i < count; ++i) {
      text += cat(i > 0 ? "," : "", R"({"name":"t)", i, R"(","bytes":4,"ready_us":)", count - i,
                  "}");
    }
    return traced(text + "]}");
  };
  auto workload = many(50'000);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->tensors.size(), 50'000U);
  EXPECT_EQ(workload->tensors.front().name, "t49999");
  std::string zeros = R"({"tensors": [0)";
  for (int i = 0; i < 1'000'000; ++i) zeros += ",0";
  EXPECT_THAT(traced(zeros + "]}").status().message(),
              HasSubstr("1000001 tensors, of which at most 1000000 can be simulated"));
}

TEST(SimulateTrace, ARecordingIsReadWithoutKeepingItAndTheErrorSaysWhatToDo) {
  std::string recording = R"({"traceEvents": [)";
  for (int i = 0; i < 1000; ++i) recording += R"({"name": "a", "args": {"b": [1, 2]}},)";
  recording += "{}]}";
  EXPECT_THAT(traced(recording).status().message(),
              HasSubstr("it looks like a recording; make a trace of it with unisono trace"));
  // What else stands in a trace does no harm.
  auto beside = traced(R"({"x": [{"tensors": 1}], "tensors": [{"name": "a", "bytes": 8,
      "ready_us": 2, "y": {"bytes": [[]]}}], "z": {}})");
  ASSERT_TRUE(beside.ok()) << beside.status().message();
  EXPECT_EQ(beside->tensors.size(), 1U);
}

TEST(Trace, DeepNestingIsRefusedWithoutHarm) {
  const std::string deep(200'000, '[');
  EXPECT_THAT(traced(deep).status().message(), HasSubstr("unexpected end of input"));
  EXPECT_THAT(traced(deep + std::string(200'000, ']')).status().message(),
              HasSubstr("]}: not an object"));
}

TEST(Trace, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(read_trace("/no/such/trace.json").status().message(),
              HasSubstr("--trace /no/such/trace.json: the file cannot be read"));
}

}  // namespace
}  // namespace unisono::tools
