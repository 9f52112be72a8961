// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the orchestrator and its workers talk: one JSON object per line over a unix socket.
// A worker blocks in receive() between jobs, so that an implementation that is not being measured
// uses no CPU.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/os/fd.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

// Named in the environment of every worker.
inline constexpr const char* kSocketVariable = "UNISONO_BENCH_SOCKET";
inline constexpr const char* kGroupVariable = "UNISONO_BENCH_GROUP";

class LineChannel {
 public:
  LineChannel() = default;
  explicit LineChannel(Fd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  Status send(const nlohmann::json& message);
  // Waits for the next message. peer_left when the other end is gone; timed_out after limit_s.
  Result<nlohmann::json> receive(double limit_s = -1);

 private:
  Fd fd_;
  std::string buffer_;
};

// An abstract name: no file to clean up.
Result<Fd> listen_abstract(const std::string& name);
Result<Fd> connect_abstract(const std::string& name);

}  // namespace unisono::tools
