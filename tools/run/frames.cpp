// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/frames.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace unisono::tools {
namespace {
constexpr std::size_t kHead = 9;
constexpr std::uint32_t kBodyMax = 4u << 20;
}  // namespace

std::string frame_bytes(const Frame& frame) {
  const auto length = static_cast<std::uint32_t>(frame.body.size());
  std::string bytes(kHead, '\0');
  std::memcpy(bytes.data(), &length, 4);
  bytes[4] = static_cast<char>(frame.kind);
  std::memcpy(bytes.data() + 5, &frame.rank, 4);
  return bytes += frame.body;
}

bool write_frame(int fd, const Frame& frame) {
  const std::string bytes = frame_bytes(frame);
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

bool FrameReader::fill(int fd) {
  char chunk[16384];
  for (;;) {
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return !broken_;
    if (n <= 0) return false;
    buffer_.append(chunk, static_cast<std::size_t>(n));
    // Enough for now; whoever prints so much before the greeting is no agent.
    if (buffer_.size() > 2 * kBodyMax) return greeted_ && !broken_;
  }
}

bool FrameReader::greeted() {
  if (greeted_) return true;
  const std::size_t at = buffer_.find(kGreeting);
  if (at == std::string::npos) {
    noise_ = buffer_.substr(0, 400);
    return false;
  }
  buffer_.erase(0, at + kGreeting.size());
  return greeted_ = true;
}

std::optional<Frame> FrameReader::next() {
  if (broken_ || buffer_.size() < kHead) return std::nullopt;
  std::uint32_t length = 0;
  Frame frame{};
  std::memcpy(&length, buffer_.data(), 4);
  frame.kind = static_cast<Frame::Kind>(buffer_[4]);
  std::memcpy(&frame.rank, buffer_.data() + 5, 4);
  if (length > kBodyMax) {
    broken_ = true;
    return std::nullopt;
  }
  if (buffer_.size() < kHead + length) return std::nullopt;
  frame.body = buffer_.substr(kHead, length);
  buffer_.erase(0, kHead + length);
  return frame;
}

std::string encode_spec(const JobSpec& job, const HostPlan& plan) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const RankPlan& rank : plan.ranks) {
    ranks.push_back(
        {{"rank", rank.rank}, {"local_rank", rank.local_rank}, {"local_size", rank.local_size}});
  }
  const nlohmann::json spec{{"size", job.size},
                            {"program", job.program},
                            {"environment", job.environment},
                            {"recordings", job.recordings},
                            {"folder", job.folder},
                            {"several_hosts", job.several_hosts},
                            {"host", plan.host},
                            {"ranks", ranks}};
  return spec.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool decode_spec(std::string_view text, JobSpec& job, HostPlan& plan) {
  try {
    const auto spec = nlohmann::json::parse(text);
    job.size = spec.at("size").get<int>();
    job.program = spec.at("program").get<std::vector<std::string>>();
    job.environment = spec.at("environment").get<std::map<std::string, std::string>>();
    job.recordings = spec.at("recordings").get<std::map<std::string, std::string>>();
    job.folder = spec.at("folder").get<std::string>();
    job.several_hosts = spec.at("several_hosts").get<bool>();
    plan.host = spec.at("host").get<std::string>();
    plan.local = false;
    for (const auto& rank : spec.at("ranks")) {
      plan.ranks.push_back({rank.at("rank").get<int>(), rank.at("local_rank").get<int>(),
                            rank.at("local_size").get<int>()});
    }
    return !plan.ranks.empty() && !job.program.empty();
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace unisono::tools
