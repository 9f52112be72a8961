// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "launch/job_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace unisono {
namespace {

struct Folder {
  std::string path = "/tmp/unisono-job-XXXXXX";
  Folder() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
};

TEST(JobFile, OthersReadWhatRankZeroLeft) {
  const Folder folder;
  JobFile zero("job", folder.path), other("job", folder.path), stranger("else", folder.path);
  EXPECT_FALSE(other.look().value().has_value());
  const JobNote note{make_job_key(), "127.0.0.1:4000"};
  ASSERT_TRUE(zero.leave(note).ok());
  const auto seen = other.look();
  ASSERT_TRUE(seen.ok() && seen.value().has_value());
  EXPECT_EQ(seen.value()->key, note.key);
  EXPECT_EQ(seen.value()->address, note.address);
  EXPECT_FALSE(stranger.look().value().has_value());
  zero.take_away();
  EXPECT_FALSE(other.look().value().has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(JobFile, IsPrivateAndRefusedWhenItIsNot) {
  const Folder folder;
  JobFile zero("job", folder.path);
  ASSERT_TRUE(zero.leave({make_job_key(), "a:1"}).ok());
  struct stat about {};
  ASSERT_EQ(::stat(zero.path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  ::chmod(zero.path().c_str(), 0644);
  EXPECT_EQ(zero.look().status().code(), Code::refused);
}

TEST(JobFile, LeftoverOfADeadProcessIsReplaced) {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    JobFile dying("job", folder.path);
    ::_exit(dying.leave({make_job_key(), "a:1"}).ok() ? 0 : 1);
  }
  int ended = 0;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  ASSERT_EQ(ended, 0);
  JobFile zero("job", folder.path);
  EXPECT_FALSE(std::filesystem::is_empty(folder.path));
  EXPECT_FALSE(zero.look().value().has_value());
  ASSERT_TRUE(zero.leave({make_job_key(), "b:2"}).ok());
  EXPECT_EQ(zero.look().value()->address, "b:2");
}

TEST(JobFile, SecondRankZeroIsRefused) {
  const Folder folder;
  JobFile zero("job", folder.path), again("job", folder.path);
  ASSERT_TRUE(zero.leave({make_job_key(), "a:1"}).ok());
  EXPECT_EQ(again.leave({make_job_key(), "b:2"}).code(), Code::refused);
  EXPECT_TRUE(zero.look().value().has_value());
}

}  // namespace
}  // namespace unisono
