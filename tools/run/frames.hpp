// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What launcher and agent say to each other over ssh: small frames, after one line of greeting
// that tells them from whatever a login shell prints. Length, kind, rank, bytes; bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "run/host_layout.hpp"

namespace unisono::tools {

inline constexpr std::string_view kGreeting = "UNISONO-AGENT " UNISONO_VERSION_TEXT "\n";

struct Frame {
  enum class Kind : std::uint8_t {
    spec = 'S',
    key = 'K',
    go = 'G',
    signal = 's',  // to the agent
    ready = 'R',
    started = 'P',
    not_started = 'N',
    out = 'o',
    err = 'e',  // from it
    exited = 'X',
    host_failed = 'H',
  } kind;
  std::int32_t rank = -1;
  std::string body;
};

// What goes over the pipe for it.
std::string frame_bytes(const Frame& frame);
// Writes all of it or gives false. Blocks while the other side is slow.
bool write_frame(int fd, const Frame& frame);

class FrameReader {
 public:
  // Adds what can be read now; false at the end of the stream or after garbage.
  bool fill(int fd);
  std::optional<Frame> next();
  // Skips to the end of the greeting. False while it has not come.
  bool greeted();
  const std::string& garbage() const { return noise_; }

 private:
  std::string buffer_, noise_;
  bool greeted_ = false, broken_ = false;
};

std::string encode_spec(const JobSpec& job, const HostPlan& plan);
bool decode_spec(std::string_view text, JobSpec& job, HostPlan& plan);

}  // namespace unisono::tools
