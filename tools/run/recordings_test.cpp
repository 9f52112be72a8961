// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/recordings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/data/text.hpp"
#include "testing/folder.hpp"
#include "trace/testing/events.hpp"

namespace unisono::tools {
namespace {

using testing::HasSubstr;

class Recordings : public testing::Test {
 protected:
  Recordings() {
    settings_.job.size = 2;
    settings_.recorded["UNISONO_TRACE"] = path_;
  }

  TestFolder folder_;
  const std::string path_ = cat(folder_.path(), "/run.json");
  RunSettings settings_;
};

TEST_F(Recordings, TellTheRanksWhereTheirPartsGoAndForgetThoseOfAnEarlierRun) {
  const std::string stale = folder_.file("run.json.1.part", "old");
  ASSERT_TRUE(prepare_recordings(settings_).ok());
  EXPECT_EQ(settings_.job.environment.at("UNISONO_TRACE"), path_ + ".part");
  EXPECT_FALSE(std::filesystem::exists(stale));
}

TEST_F(Recordings, RefuseAFileThatCannotBeWritten) {
  settings_.recorded["UNISONO_TRACE"] = cat(folder_.path(), "/none/run.json");
  EXPECT_THAT(prepare_recordings(settings_).message(), HasSubstr("--trace"));
  settings_.recorded["UNISONO_TRACE"] = folder_.path();
  EXPECT_THAT(prepare_recordings(settings_).message(), HasSubstr("directory"));
}

TEST_F(Recordings, OfAHostReachTheLauncherWhole) {
  ASSERT_TRUE(prepare_recordings(settings_).ok());
  JobSpec far = settings_.job;
  ASSERT_TRUE(redirect_recordings(far).ok());
  const std::string base = far.environment.at("UNISONO_TRACE");
  EXPECT_NE(base, path_ + ".part");
  std::vector<std::string> lines;
  for (int i = 0; i < 20'000; ++i) lines.push_back(bucket_line(1, i, 100.0 * i, 50));
  const std::string sent = event_file(lines);
  ASSERT_GT(sent.size(), 2u << 20) << "several frames";
  std::ofstream(base + ".1") << sent;
  send_parts(far, {"far", false, {{1, 0, 1}}}, [&](const Frame& frame) {
    EXPECT_EQ(frame.kind, Frame::Kind::part);
    keep_part(settings_.job, frame.rank, frame.body);
    return true;
  });
  EXPECT_EQ(text_of_file(cat(folder_.path(), "/run.json.1.part")), sent);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(base).parent_path()));
  JobEnd end;
  EXPECT_THAT(merge_recordings(settings_, end), HasSubstr("20000 events of 1 of 2 ranks"));
  EXPECT_EQ(end.trace, path_);
  EXPECT_EQ(end.bucket_sizes.total(), 20'000u);
}

TEST_F(Recordings, PartsOfNobodyAreNotKept) {
  ASSERT_TRUE(prepare_recordings(settings_).ok());
  for (const char* body : {"", "UNISONO_TRACE", "UNISONO_OTHER\nx", "../x\ny"}) {
    keep_part(settings_.job, 1, body);
  }
  keep_part(settings_.job, 2, "UNISONO_TRACE\nx");
  keep_part(settings_.job, -1, "UNISONO_TRACE\nx");
  JobEnd end;
  EXPECT_THAT(merge_recordings(settings_, end), HasSubstr("no rank has written anything"));
}

}  // namespace
}  // namespace unisono::tools
