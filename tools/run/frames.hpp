// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How launcher and agent communicate over ssh: small frames, after one greeting line that separates
// them from whatever a login shell prints. A frame has length, kind, rank and bytes; it is bounded.
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
    part = 'p',  // of a recording: its variable, a line end, bytes
    host_failed = 'H',
  } kind;
  std::int32_t rank = -1;
  std::string body;
};

// The bytes that are sent for a frame.
std::string frame_bytes(const Frame& frame);
// Writes the whole frame or returns false. Blocks while the other side is slow.
bool write_frame(int fd, const Frame& frame);

class FrameReader {
 public:
  // Adds what can be read now; returns false at the end of the stream or after invalid bytes.
  bool fill(int fd);
  std::optional<Frame> next();
  // Skips to the end of the greeting. Returns false while it has not come.
  bool greeted();
  const std::string& garbage() const { return noise_; }

 private:
  std::string buffer_, noise_;
  bool greeted_ = false, broken_ = false;
};

std::string encode_spec(const JobSpec& job, const HostPlan& plan);
bool decode_spec(std::string_view text, JobSpec& job, HostPlan& plan);

}  // namespace unisono::tools
