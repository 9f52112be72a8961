// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How a job ended, for people and as JSON. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "trace/sizes.hpp"

namespace unisono::tools {

struct RankEnd {
  int rank = 0;
  std::string host;
  std::int64_t pid = 0;
  std::optional<int> exit_code, signal;  // neither: it never ran or its host was lost
  std::string trouble;                   // why it never ran
  double duration_s = 0;
  bool failed() const { return !trouble.empty() || signal || (exit_code && *exit_code != 0); }
  bool ended() const { return !trouble.empty() || signal || exit_code; }
};

struct JobEnd {
  enum class How : std::uint8_t { succeeded, failed, interrupted, timed_out } how = How::succeeded;
  int exit_code = 0;
  double duration_s = 0;
  double timeout_s = 0;
  int signal = 0;            // what interrupted it
  int first = -1;            // the rank that failed first, or -1
  std::string host_trouble;  // a host that failed before or instead of its ranks
  std::vector<RankEnd> ranks;
  std::vector<int> unfinished;         // still running at the timeout
  std::deque<std::string> last_lines;  // of the first to fail
  std::vector<std::string> command;
  std::string trace;                   // the file of --trace, once it is written
  SizeHistogram bucket_sizes;          // of the lowest rank in it
};

std::string signal_name(int number);  // "SIGKILL"
std::string verdict_text(const JobEnd& end);
std::string verdict_json(const JobEnd& end);

}  // namespace unisono::tools
