// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/job_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace unisono::rendezvous {
namespace {

struct Folder {
  std::string path = "/tmp/unisono-job-XXXXXX";
  Folder() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
};

bool nobody(const JobNote&) { return false; }

TEST(JobFile, OthersReadWhatRankZeroLeft) {
  const Folder folder;
  JobFile zero("job", folder.path, nobody), other("job", folder.path, nobody),
      stranger("else", folder.path, nobody);
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
  JobFile zero("job", folder.path, nobody);
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
    JobFile dying("job", folder.path, nobody);
    ::_exit(dying.leave({make_job_key(), "a:1"}).ok() ? 0 : 1);
  }
  int ended = 0;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  ASSERT_EQ(ended, 0);
  JobFile zero("job", folder.path, nobody);
  EXPECT_FALSE(std::filesystem::is_empty(folder.path));
  EXPECT_FALSE(zero.look().value().has_value());
  ASSERT_TRUE(zero.leave({make_job_key(), "b:2"}).ok());
  EXPECT_EQ(zero.look().value()->address, "b:2");
}

TEST(JobFile, WhoeverWasReplacedTakesNothingAway) {
  const Folder folder;
  JobFile slow("job", folder.path, nobody), next("job", folder.path, nobody);
  ASSERT_TRUE(slow.leave({make_job_key(), "a:1"}).ok());
  std::filesystem::remove(slow.path());     // as a rank 0 does that believes the other one is dead
  ASSERT_TRUE(next.leave({make_job_key(), "b:2"}).ok());
  slow.take_away();
  const auto seen = next.look();
  ASSERT_TRUE(seen.ok() && seen.value().has_value());
  EXPECT_EQ(seen.value()->address, "b:2");
}

// A process that has ended stays in the process table until its parent waits for it.
TEST(JobFile, LeftoverOfAnUnreapedProcessIsReplaced) {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    JobFile dying("job", folder.path, nobody);
    ::_exit(dying.leave({make_job_key(), "a:1"}).ok() ? 0 : 1);
  }
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  JobFile next("job", folder.path, nobody);
  EXPECT_FALSE(next.look().value().has_value());
  EXPECT_TRUE(next.leave({make_job_key(), "b:2"}).ok());
  ::waitpid(child, nullptr, 0);
}

TEST(JobFile, SecondRankZeroIsRefused) {
  const Folder folder;
  JobFile zero("job", folder.path, nobody), again("job", folder.path, nobody);
  ASSERT_TRUE(zero.leave({make_job_key(), "a:1"}).ok());
  EXPECT_EQ(again.leave({make_job_key(), "b:2"}).code(), Code::refused);
  EXPECT_TRUE(zero.look().value().has_value());
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
}

// A requeued job on other hosts finds the file that its first attempt left. The process that wrote
// it cannot be inspected from here, but it does not answer either.
TEST(JobFile, NoteOfAnotherHostCountsWhileItsMakerAnswers) {
  const Folder folder;
  bool answers = true;
  JobFile zero("job", folder.path, [&](const JobNote& note) {
    EXPECT_EQ(note.address, "far:9");
    return answers;
  });
  write_file(zero.path(),
             encode_note({{make_job_key(), "far:9"}, "another boot:1", ::getpid(), 1}));
  EXPECT_TRUE(zero.look().value().has_value());
  EXPECT_EQ(zero.leave({make_job_key(), "b:2"}).code(), Code::refused);
  answers = false;
  EXPECT_FALSE(zero.look().value().has_value());
  ASSERT_TRUE(zero.leave({make_job_key(), "b:2"}).ok());
  EXPECT_EQ(zero.look().value()->address, "b:2");
}

TEST(JobFile, WhatSomebodyElsePutThereIsNamedAndReplacedWherePossible) {
  const Folder folder;
  JobFile zero("job", folder.path, nobody);
  const std::string target = folder.path + "/target";
  write_file(target, std::as_bytes(std::span("precious", 8)));
  ASSERT_EQ(::symlink(target.c_str(), zero.path().c_str()), 0);
  const Status link = zero.look().status();
  EXPECT_EQ(link.code(), Code::refused);
  for (const std::string& part : {zero.path(), std::string("owner uid"), std::string("mode 0777"),
                                  std::string("UNISONO_JOB_DIR")}) {
    EXPECT_NE(link.message().find(part), std::string::npos) << link.message();
  }
  ASSERT_TRUE(zero.leave({make_job_key(), "b:2"}).ok());
  EXPECT_EQ(zero.look().value()->address, "b:2");
  std::string kept;
  std::getline(std::ifstream(target), kept);
  EXPECT_EQ(kept, "precious");
  zero.take_away();

  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  write_file(zero.path(), encode_note({{make_job_key(), "evil:1"}, "", 1, 1}));
  ASSERT_EQ(::chown(zero.path().c_str(), 12345, 12345), 0);
  const Status foreign = zero.look().status();
  EXPECT_EQ(foreign.code(), Code::refused);
  EXPECT_NE(foreign.message().find("owner uid 12345, mode 0600"), std::string::npos)
      << foreign.message();
  ASSERT_TRUE(zero.leave({make_job_key(), "b:2"}).ok());
  EXPECT_EQ(zero.look().value()->address, "b:2");
}

TEST(JobFile, FolderOthersCanEnterIsRefusedByNameOwnerAndMend) {
  const Folder folder;
  const std::string inside = folder.path + "/inside";
  ASSERT_TRUE(make_private_folder(inside).ok());
  ASSERT_TRUE(make_private_folder(inside).ok()) << "a second job of this user";
  ::chmod(inside.c_str(), 0777);
  const Status open = make_private_folder(inside);
  EXPECT_EQ(open.code(), Code::refused);
  for (const std::string& part :
       {inside, std::string("mode 0777"), std::string("UNISONO_JOB_DIR")}) {
    EXPECT_NE(open.message().find(part), std::string::npos) << open.message();
  }
  const std::string link = folder.path + "/link";
  ASSERT_EQ(::symlink("/tmp", link.c_str()), 0);
  EXPECT_EQ(make_private_folder(link).code(), Code::refused);
}

TEST(JobFile, ParserTakesNothingButAWholeNote) {
  const auto bytes = encode_note({{make_job_key(), "a:1"}, "place", 7, 8});
  ASSERT_TRUE(parse_note(bytes).has_value());
  EXPECT_EQ(parse_note(bytes)->pid, 7);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(parse_note(std::span(bytes).first(n)).has_value()) << n;
  }
}

}  // namespace
}  // namespace unisono::rendezvous
