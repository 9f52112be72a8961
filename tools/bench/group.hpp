// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One implementation under measurement: a group of worker processes and a socket to each rank.
// Thread: the orchestrator's. The destructor ends its processes, by their process ids.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "bench/contender.hpp"
#include "bench/wire.hpp"

namespace unisono::tools {

// What to start. One command per process: a launcher that starts all ranks, or the ranks.
struct Launch {
  Label label;
  struct Process {
    std::vector<std::string> command;
    std::map<std::string, std::string> environment;
  };
  std::vector<Process> processes;
};

class Group final : public Contender {
 public:
  Group(Launch launch, int id, int ranks);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() override;

  Status start(const std::string& socket_name);
  // A worker of this group has said hello.
  void attach(int rank, LineChannel channel, const std::string& version);
  bool complete() const;
  // The process ended before all of its ranks said hello.
  bool died();
  const Label& label() const override { return launch_.label; }
  Status set_up(const Work& work) override;
  Result<Block> run_block(int iterations, int seed) override;
  Result<std::string> explain() override;
  std::string last_words() const override;
  const std::string& version() const { return version_; }

 private:
  Status ask_all(const nlohmann::json& message, std::vector<nlohmann::json>& answers);

  Launch launch_;
  int id_, ranks_;
  std::vector<LineChannel> channels_;
  int attached_ = 0;
  std::vector<pid_t> pids_;
  Fd log_;
  std::string version_;
};

}  // namespace unisono::tools
