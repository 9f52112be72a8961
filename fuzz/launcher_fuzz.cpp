// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Messages between the launcher and its agents on other hosts, and lists of hosts.
#include <fcntl.h>
#include <unistd.h>

#include "base/os/fd.hpp"
#include "run/frames.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

using namespace tools;

std::pair<Fd, Fd> pipe_pair() {
  int ends[2];
  must(::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0, "no pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

void stream(std::span<const std::byte> bytes) {
  auto [out, in] = pipe_pair();
  static_cast<void>(::write(in.get(), bytes.data(), std::min<std::size_t>(bytes.size(), 60000)));
  FrameReader reader;
  static_cast<void>(reader.fill(out.get()));
  if (!reader.greeted()) return;
  while (const auto frame = reader.next()) static_cast<void>(frame->body.size());
}

JobSpec example() {
  JobSpec job;
  job.size = 2;
  job.program = {"python", "train.py"};
  job.environment = {{"A", "b"}};
  job.folder = "/tmp";
  return job;
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const unsigned what = choices.below(4);
  const std::string_view text = text_of(choices.rest());
  JobSpec job;
  HostPlan plan;
  if (what == 0) stream(choices.rest());
  if (what == 1 && decode_spec(text, job, plan)) {
    JobSpec job2;
    HostPlan plan2;
    must(decode_spec(encode_spec(job, plan), job2, plan2), "a job that was read cannot be written");
  }
  if (what == 2) {
    if (auto hosts = parse_hosts(text)) static_cast<void>(place(*hosts, 3));
  }
  if (what == 3) {
    if (auto hosts = parse_hostfile(text)) static_cast<void>(place(*hosts, 3));
  }
}

std::vector<Bytes> seeds() {
  auto [out, in] = pipe_pair();
  must(write_frame(in.get(), {Frame::Kind::out, 1, "a line\n"}) &&
           write_frame(in.get(), {Frame::Kind::exited, 1, "0"}),
       "no frames");
  Bytes frames = bytes_of(kGreeting);
  Bytes tail(200);
  const ssize_t n = ::read(out.get(), tail.data(), tail.size());
  frames.insert(frames.end(), tail.begin(), tail.begin() + std::max<ssize_t>(n, 0));
  return {chosen(0, frames),
          chosen(1, bytes_of(encode_spec(example(), {"b", false, {{1, 0, 1}}}))),
          chosen(2, bytes_of("a:2,b,[::1]:4")), chosen(3, bytes_of("# us\na slots=2\nb:3\n"))};
}

}  // namespace unisono::fuzz
