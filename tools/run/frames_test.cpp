// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/frames.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "base/os/fd.hpp"

namespace unisono::tools {
namespace {

using testing::HasSubstr;

// A reader and the pipe it reads from.
struct FramePipe {
  Fd from, to;
  FrameReader reader;

  FramePipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    from = Fd(ends[0]);
    to = Fd(ends[1]);
  }
  // Whether the stream goes on after these bytes.
  bool give(std::string_view bytes) {
    EXPECT_EQ(::write(to.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    return reader.fill(from.get());
  }
  bool end() {
    to.reset();
    return reader.fill(from.get());
  }
};

// The first bytes of a frame whose body has this length.
std::string head_of(std::uint32_t length) {
  std::string bytes = frame_bytes({Frame::Kind::out, 0, ""});
  bytes.replace(0, 4, reinterpret_cast<const char*>(&length), 4);
  return bytes;
}

TEST(Frames, ArriveAsTheyWereWritten) {
  FramePipe pipe;
  const std::string odd("a\0\n\xff", 4);
  EXPECT_TRUE(write_frame(pipe.to.get(), {Frame::Kind::err, 70'000, odd}));
  EXPECT_TRUE(write_frame(pipe.to.get(), {Frame::Kind::go, -1, ""}));
  EXPECT_TRUE(pipe.reader.fill(pipe.from.get()));
  const auto first = pipe.reader.next(), second = pipe.reader.next();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->kind == Frame::Kind::err);
  EXPECT_EQ(first->rank, 70'000);
  EXPECT_EQ(first->body, odd);
  EXPECT_TRUE(second->kind == Frame::Kind::go);
  EXPECT_EQ(second->rank, -1);
  EXPECT_EQ(second->body, "");
  EXPECT_FALSE(pipe.reader.next().has_value());
}

TEST(Frames, OneIsReadOnceItIsWholeHoweverItComes) {
  FramePipe pipe;
  for (const char byte : frame_bytes({Frame::Kind::exited, 3, "256"})) {
    EXPECT_FALSE(pipe.reader.next().has_value());
    EXPECT_TRUE(pipe.give({&byte, 1}));
  }
  const auto frame = pipe.reader.next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->body, "256");
}

TEST(Frames, OneThatIsCutOffByTheEndIsNone) {
  const std::string whole = frame_bytes({Frame::Kind::out, 0, "text"});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    FramePipe pipe;
    EXPECT_TRUE(pipe.give(std::string_view(whole).substr(0, size)));
    EXPECT_FALSE(pipe.end());
    EXPECT_FALSE(pipe.reader.next().has_value()) << size;
  }
}

TEST(Frames, WholeOnesAreReadAfterTheEnd) {
  FramePipe pipe;
  pipe.give(frame_bytes({Frame::Kind::out, 0, "last"}));
  EXPECT_FALSE(pipe.end());
  EXPECT_TRUE(pipe.reader.next().has_value());
}

TEST(Frames, AnImpossibleLengthEndsTheStream) {
  FramePipe large, too_large;
  large.give(head_of(4U << 20));
  EXPECT_FALSE(large.reader.next().has_value()) << "its body has not come";
  EXPECT_TRUE(large.reader.fill(large.from.get()));
  too_large.give(head_of((4U << 20) + 1));
  EXPECT_FALSE(too_large.reader.next().has_value());
  EXPECT_FALSE(too_large.give(frame_bytes({Frame::Kind::out, 0, "text"})));
  EXPECT_FALSE(too_large.reader.next().has_value()) << "what follows means nothing";
}

TEST(Frames, BeginAfterTheGreetingWhateverALoginShellPrints) {
  FramePipe pipe;
  pipe.give(cat("Welcome!\nUNISONO-", kGreeting.substr(0, 5)));
  EXPECT_FALSE(pipe.reader.greeted());
  EXPECT_THAT(pipe.reader.garbage(), HasSubstr("Welcome!"));
  pipe.give(cat("\n", kGreeting, frame_bytes({Frame::Kind::ready, -1, "host:1"})));
  ASSERT_TRUE(pipe.reader.greeted());
  EXPECT_TRUE(pipe.reader.greeted()) << "once is enough";
  const auto frame = pipe.reader.next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->body, "host:1");
}

TEST(Frames, TheGreetingOfAnotherVersionIsKeptAsGarbage) {
  FramePipe pipe;
  pipe.give("UNISONO-AGENT 0.0.0-other\n");
  EXPECT_FALSE(pipe.reader.greeted());
  EXPECT_THAT(pipe.reader.garbage(), HasSubstr("UNISONO-AGENT 0.0.0-other"));
  pipe.give(std::string(5000, 'x'));
  EXPECT_FALSE(pipe.reader.greeted());
  EXPECT_LE(pipe.reader.garbage().size(), 400U);
}

TEST(Frames, WritingToNobodyFails) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  FramePipe pipe;
  pipe.from.reset();
  EXPECT_FALSE(write_frame(pipe.to.get(), {Frame::Kind::go, -1, ""}));
  std::signal(SIGPIPE, before);
}

JobSpec two_hosts() {
  JobSpec job;
  job.size = 3;
  job.program = {"train", "--text", "two\nlines \"quoted\""};
  job.environment = {{"UNISONO_ORDER", "tree"}, {"EMPTY", ""}};
  job.recordings = {{"UNISONO_TRACE", "/home/someone/run.json.part"}};
  job.folder = "/home/someone";
  job.several_hosts = true;
  return job;
}
const HostPlan kSecondHost{"beta", false, {{1, 0, 2}, {2, 1, 2}}};

TEST(JobSpecs, ArriveAsTheyWereSent) {
  JobSpec job;
  HostPlan plan;
  ASSERT_TRUE(decode_spec(encode_spec(two_hosts(), kSecondHost), job, plan));
  EXPECT_EQ(job.size, 3);
  EXPECT_EQ(job.program, two_hosts().program);
  EXPECT_EQ(job.environment, two_hosts().environment);
  EXPECT_EQ(job.recordings, two_hosts().recordings);
  EXPECT_EQ(job.folder, "/home/someone");
  EXPECT_TRUE(job.several_hosts);
  EXPECT_EQ(plan.host, "beta");
  EXPECT_FALSE(plan.local);
  ASSERT_EQ(plan.ranks.size(), 2U);
  EXPECT_EQ(plan.ranks[1].rank, 2);
  EXPECT_EQ(plan.ranks[1].local_rank, 1);
  EXPECT_EQ(plan.ranks[1].local_size, 2);
}

TEST(JobSpecs, OneThatIsCutOffOrLacksSomethingIsRefused) {
  const std::string whole = encode_spec(two_hosts(), kSecondHost);
  const auto refused = [](std::string_view text) {
    JobSpec job;
    HostPlan plan;
    return !decode_spec(text, job, plan);
  };
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(refused(std::string_view(whole).substr(0, size))) << size;
  }
  const auto spec = nlohmann::json::parse(whole);
  for (const auto& [key, value] : spec.items()) {
    auto damaged = spec;
    damaged.erase(key);
    EXPECT_TRUE(refused(damaged.dump())) << key << " is missing";
    damaged[key] = nullptr;
    EXPECT_TRUE(refused(damaged.dump())) << key << " is of another type";
  }
  for (const char* list : {"ranks", "program"}) {
    auto damaged = spec;
    damaged[list] = nlohmann::json::array();
    EXPECT_TRUE(refused(damaged.dump())) << list << " is empty";
  }
}

TEST(JobSpecs, AnyBytesOfAnArgumentCanBeSent) {
  JobSpec job = two_hosts(), found;
  job.program.push_back("\xff\xfe");
  HostPlan plan;
  EXPECT_TRUE(decode_spec(encode_spec(job, kSecondHost), found, plan));
  EXPECT_EQ(found.program.size(), job.program.size());
}

}  // namespace
}  // namespace unisono::tools
