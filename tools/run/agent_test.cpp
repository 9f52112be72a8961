// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/agent.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/os/fd.hpp"
#include "exit_codes.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "run/frames.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

// An agent in this process that finds these orders and then the end of its standard input.
int code_of_agent(const std::string& orders) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd from(ends[0]), input(::dup(0));
  Fd to(ends[1]);
  EXPECT_EQ(::write(to.get(), orders.data(), orders.size()),
            static_cast<ssize_t>(orders.size()));
  to.reset();
  ::dup2(from.get(), 0);
  const auto on_broken_pipe = std::signal(SIGPIPE, SIG_DFL);
  int code = -1;
  const Printed printed = printed_by([&] { code = serve_as_agent(); });
  std::signal(SIGPIPE, on_broken_pipe);
  ::dup2(input.get(), 0);
  EXPECT_EQ(printed.out, kGreeting);
  return code;
}

std::string spec_order() {
  JobSpec job;
  job.size = 2;
  job.program = {"true"};
  const HostPlan plan{"beta", false, {{1, 0, 1}}};
  return frame_bytes({Frame::Kind::spec, -1, encode_spec(job, plan)});
}

std::string key_order(std::size_t bytes) {
  return frame_bytes({Frame::Kind::key, -1, std::string(bytes, 'k')});
}

TEST(Agent, GreetsAndEndsWithItsInput) {
  EXPECT_EQ(code_of_agent(""), kJobFailed);
  EXPECT_EQ(code_of_agent(spec_order()), kJobFailed);
  EXPECT_EQ(code_of_agent(spec_order() + key_order(rendezvous::kKeyBytes)), kJobFailed);
}

TEST(Agent, AnOrderThatIsCutOffIsNotObeyed) {
  const std::string spec = spec_order();
  EXPECT_EQ(code_of_agent(spec.substr(0, 5)), kJobFailed);
  EXPECT_EQ(code_of_agent(spec.substr(0, spec.size() - 1)), kJobFailed);
}

TEST(Agent, WhatIsNoOrderIsRefused) {
  EXPECT_EQ(code_of_agent(frame_bytes({Frame::Kind::out, 0, "text"})), kWrongUsage);
  EXPECT_EQ(code_of_agent(frame_bytes({static_cast<Frame::Kind>(0), 0, ""})), kWrongUsage);
  EXPECT_EQ(code_of_agent(frame_bytes({Frame::Kind::spec, -1, "{}"})), kWrongUsage);
}

TEST(Agent, OrdersOutOfTheirOrderAreRefused) {
  const std::string go = frame_bytes({Frame::Kind::go, -1, "127.0.0.1:1"});
  EXPECT_EQ(code_of_agent(key_order(rendezvous::kKeyBytes)), kWrongUsage) << "a key for nobody";
  EXPECT_EQ(code_of_agent(spec_order() + go), kWrongUsage) << "ranks without a key";
}

TEST(Agent, AKeyOfAnotherLengthIsRefused) {
  for (const std::size_t bytes : {std::size_t{0}, rendezvous::kKeyBytes - 1,
                                  rendezvous::kKeyBytes + 1}) {
    EXPECT_EQ(code_of_agent(spec_order() + key_order(bytes)), kWrongUsage) << bytes;
  }
}

TEST(Agent, ASignalBeforeThereIsAnybodyChangesNothing) {
  for (const char* body : {"\x0f", ""}) {
    EXPECT_EQ(code_of_agent(frame_bytes({Frame::Kind::signal, -1, body})), kJobFailed);
  }
}

}  // namespace
}  // namespace unisono::tools
