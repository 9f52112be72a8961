// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono run` was asked to do, as values. Parsing and placing are pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "processes/remote_shell.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct HostSlots {
  std::string host;
  int slots = 1;
};

struct RankPlan {
  int rank = 0, local_rank = 0, local_size = 1;
};

struct HostPlan {
  std::string host;
  bool local = true;  // started by this process, without ssh
  std::vector<RankPlan> ranks;
};

// What every host needs to start its ranks; travels to the agents as JSON, without the key.
struct JobSpec {
  int size = 1;
  std::vector<std::string> program;
  std::map<std::string, std::string> environment;  // on top of what the host has
  std::string folder;                              // working directory; "" leaves it
  // Variables that say where a rank writes its part of a recording; the launcher merges those.
  std::map<std::string, std::string> recordings;
  bool several_hosts = false;                      // else everything stays on loopback
  bool stdin_to_rank_0 = false;
};

struct RunSettings {
  JobSpec job;
  std::vector<HostPlan> hosts;
  ShellSettings shell;
  std::string key_file, output_dir, json;
  std::map<std::string, std::string> recorded;     // by variable: the file for all ranks
  bool prefix = true;
  double grace_s = 5, timeout_s = 0;
};

// "a:2,b:4"; a host without slots has one.
Result<std::vector<HostSlots>> parse_hosts(std::string_view text);
// Lines "host slots=N" or "host:N"; # starts a comment.
Result<std::vector<HostSlots>> parse_hostfile(std::string_view text);
// Fills hosts in the order given. count 0: all slots.
Result<std::vector<HostPlan>> place(const std::vector<HostSlots>& hosts, int count);

}  // namespace unisono::tools
