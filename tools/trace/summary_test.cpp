// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "simulate/trace.hpp"
#include "testing/folder.hpp"
#include "testing/printed.hpp"
#include "trace/command.hpp"
#include "trace/event_lines.hpp"
#include "trace/testing/events.hpp"

namespace unisono::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TraceFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  std::string reason(const std::string& text) {
    return read_recording(write(text)).status().message();
  }
  // Steps of 1 ms on two ranks: tensors a and b are ready 300 and 700 µs after the step before, on
  // rank 1 each 40 µs later; a bucket of both takes 100 µs. One tensor comes once.
  static std::string training(int steps) {
    std::vector<std::string> lines;
    for (int rank = 0; rank < 2; ++rank) {
      lines.push_back(bucket_line(rank, 0, 5, 5, {{"once", 1 << 20, 1}}));
      for (int k = 0; k < steps; ++k) {
        const double end = 1000.0 * (k + 1), late = rank * 40;
        lines.push_back(bucket_line(rank, k + 1, end - 100, 100,
                                    {{"a", 4000, 600 - late}, {"b", 8000, 200 - late}}));
      }
    }
    return event_file(lines);
  }

  std::string in(const std::string& name) const { return cat(folder_.path(), "/", name); }

  TestFolder folder_;
  const std::string path_ = cat(folder_.path(), "/run.json");
};

TEST_F(TraceFile, TellsFileLineAndReasonOfWhatIsNoTrace) {
  EXPECT_THAT(reason("hello\n"), HasSubstr(cat(path_, ": line 1: it is not \"[\"")));
  EXPECT_THAT(reason("{\"tensors\":[]}"), HasSubstr("line 1: it is not \"[\""));
  EXPECT_THAT(reason("[\n{\"pid\":\n]\n"),
              HasSubstr("line 2: it is not a whole event: parse error"));
  EXPECT_THAT(reason("[\n3\n]\n"), HasSubstr("line 2: it is not an event"));
  EXPECT_THAT(reason("[\n{\"pid\":-4}\n]\n"), HasSubstr("line 2: \"pid\" is -4, which cannot be"));
  EXPECT_THAT(reason("[\n{\"pid\":1e999}\n]\n"), HasSubstr("line 2"));
  EXPECT_THAT(reason("[\n{\"pid\":0,\"cat\":\"bucket\"}\n]\n"), HasSubstr("\"args\" is missing"));
  EXPECT_THAT(reason("[\n{\"pid\":0}\n]\n"), HasSubstr("there is no bucket in it"));
  EXPECT_THAT(reason(""), HasSubstr("cut off"));
  EXPECT_THAT(read_recording(in("none")).status().message(),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(read_recording(in("")).status().message(), HasSubstr("Is a directory"));
}

TEST_F(TraceFile, SaysHowToMendOneThatIsCutOff) {
  std::string text = training(3);
  EXPECT_THAT(reason(text.substr(0, text.size() - 3)),
              AllOf(HasSubstr("cut off"), HasSubstr("unisono trace merge")));
  EXPECT_THAT(reason(text.substr(0, text.size() - 20)),
              AllOf(HasSubstr("line 9: it is not a whole event"),
                    HasSubstr("unisono trace merge")));
}

TEST_F(TraceFile, RefusesALineThatWouldFillMemory) {
  std::ofstream file(path_);
  file << "[\n";
  const std::string piece(1 << 20, ' ');
  for (std::size_t i = 0; i <= EventLines::kLineMax >> 20; ++i) file << piece;
  file.close();
  EXPECT_THAT(read_recording(path_).status().message(),
              HasSubstr("line 2: the line is longer than"));
}

TEST_F(TraceFile, SaysWhatHappened) {
  auto recording = read_recording(write(training(10)));
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  const Summary all = summarize(*recording);
  ASSERT_TRUE(all.steps.ok());
  EXPECT_EQ(all.steps.value().count, 10u);
  EXPECT_EQ(all.steps.value().bytes(), 12'000u);
  EXPECT_EQ(all.steps.value().left_out, 1u);
  EXPECT_DOUBLE_EQ(all.steps.value().step_us, 1000);
  EXPECT_EQ(all.buckets, 11u);
  EXPECT_EQ(all.tensors, 21u);
  EXPECT_EQ(all.bytes, 10u * 12'000 + (1 << 20));
  EXPECT_EQ(all.sizes.counts, (std::array<std::uint64_t, 5>{0, 10, 0, 1, 0}));
  EXPECT_DOUBLE_EQ(all.skew.median_us, 40);
  EXPECT_EQ(all.last.at(1), 10u);
  EXPECT_DOUBLE_EQ(all.wire.median_us, 100);
  const std::string text = summary_text("run.json", all);
  EXPECT_THAT(text, HasSubstr("10, 1.00 ms each, 2 tensors of 11.7 KiB"));
  EXPECT_THAT(text, HasSubstr("rank 1 91 %"));
  const auto json = nlohmann::json::parse(summary_json("run.json", all));
  EXPECT_EQ(json["bucket_sizes"]["4 to 64 KiB"], 10);
  EXPECT_EQ(json["steps"], 10);
}

TEST_F(TraceFile, BecomesWhatTheSimulatorReads) {
  write(training(10));
  const std::string out = in("step.json");
  EXPECT_EQ(trace_command({"compact", path_, "-o", out}), 0);
  auto workload = read_trace(out);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  ASSERT_EQ(workload->tensors.size(), 2u);
  EXPECT_EQ(workload->tensors[0].name, "a");
  EXPECT_EQ(workload->tensors[0].bytes, 4000);
  EXPECT_DOUBLE_EQ(workload->tensors[0].ready_us, 340) << "of the rank that is later";
  EXPECT_DOUBLE_EQ(workload->tensors[1].ready_us, 740);
  EXPECT_DOUBLE_EQ(workload->compute_us, 740);
}

TEST_F(TraceFile, NeedsTwoStepsToTellOneFromTheNext) {
  auto recording = read_recording(write(training(1)));
  ASSERT_TRUE(recording.ok());
  EXPECT_THAT(find_steps(*recording).status().message(), HasSubstr("every tensor comes only once"));
  EXPECT_THAT(summary_text("x", summarize(*recording)), HasSubstr("none found"));
}

TEST_F(TraceFile, TellsStepsBySizesWhereNamesAreNumbers) {
  // As DDP does: three buckets a step, after two of a beginning that does not come again.
  std::vector<std::string> lines;
  for (int rank = 0; rank < 2; ++rank) {
    for (int i = 0; i < 2; ++i) {
      lines.push_back(bucket_line(rank, i, 10.0 * i + 5, 1, {{cat("number ", i), 77, 1}}));
    }
    for (int k = 0; k < 6; ++k) {
      for (int i = 0; i < 3; ++i) {
        lines.push_back(bucket_line(rank, 2 + 3 * k + i, 1000.0 * (k + 1) + 50 * i, 20,
                                    {{cat("number ", 2 + 3 * k + i), i == 2 ? 900u : 400u, 5}}));
      }
    }
  }
  auto recording = read_recording(write(event_file(lines)));
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  auto steps = find_steps(*recording);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  EXPECT_TRUE(steps->by_sizes);
  EXPECT_EQ(steps->count, 6u);
  ASSERT_EQ(steps->tensors.size(), 3u);
  EXPECT_EQ(steps->tensors[0].name, "tensor 0");
  EXPECT_EQ(steps->tensors[2].bytes, 900u);
  EXPECT_DOUBLE_EQ(steps->tensors[0].ready_us, 875) << "from 120 to 995";
}

TEST_F(TraceFile, TellsStepsByPausesWhereAllTensorsAreAlike) {
  std::vector<std::string> lines;
  for (int i = 0; i < 24; ++i) {
    lines.push_back(bucket_line(0, i, 1000.0 * (i / 4) + 100 * (i % 4) + 7 * (i % 5), 20,
                                {{cat("number ", i), 400, 5}}));
  }
  auto recording = read_recording(write(event_file(lines)));
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  auto steps = find_steps(*recording);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  EXPECT_EQ(steps->count, 6u);
  EXPECT_EQ(steps->tensors.size(), 4u);
}

TEST_F(TraceFile, CountsTheStepInWhichAJobWasKilledForTensorsThatCame) {
  std::string text = training(6);
  text.insert(text.size() - 3, ",\n" + bucket_line(0, 99, 6500, 10, {{"a", 4000, 200}}));
  auto recording = read_recording(write(text));
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  auto steps = find_steps(*recording);
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(steps->count, 7u);
  EXPECT_EQ(steps->tensors.size(), 2u);
}

}  // namespace
}  // namespace unisono::tools
