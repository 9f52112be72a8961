// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/wire.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/data/text.hpp"
#include "processes/interrupt.hpp"

namespace unisono::tools {
namespace {

Status trouble(const char* what) {
  return Status(Code::unavailable, cat(what, ": ", std::strerror(errno)));
}

socklen_t abstract_address(const std::string& name, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  const std::size_t n = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), n);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
}

}  // namespace

Status LineChannel::send(const nlohmann::json& message) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  const std::string line = message.dump(-1, ' ', false, kReplace) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = ::send(fd_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return Status(Code::peer_lost, cat("cannot send to the other end of the bench socket: ",
                                         std::strerror(errno)));
    }
    at += static_cast<std::size_t>(n);
  }
  return {};
}

Result<nlohmann::json> LineChannel::receive(double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::size_t end;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    int wait_ms = -1;
    if (limit_s >= 0) {
      const double left =
          limit_s - std::chrono::duration<double>(Clock::now() - start).count();
      wait_ms = left <= 0 ? 0 : static_cast<int>(left * 1000) + 1;
    }
    if (interrupted() != 0) return Status(Code::shut_down, "interrupted");
    pollfd watch{fd_.get(), POLLIN, 0};
    const int ready = ::poll(&watch, 1, wait_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Status(Code::timed_out, "no answer in time");
    char chunk[65536];
    const ssize_t n = ::recv(fd_.get(), chunk, sizeof chunk, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status(Code::peer_left, "the other end closed the bench socket");
    buffer_.append(chunk, static_cast<std::size_t>(n));
  }
  auto message = nlohmann::json::parse(buffer_.substr(0, end), nullptr, false);
  buffer_.erase(0, end + 1);
  if (!message.is_object()) return Status(Code::corrupted, "not a JSON object on the bench socket");
  return message;
}

Result<Fd> listen_abstract(const std::string& name) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  const socklen_t length = abstract_address(name, address);
  if (!fd.valid() ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(fd.get(), 1024) != 0) {
    return trouble("cannot listen on a unix socket");
  }
  return fd;
}

Result<Fd> connect_abstract(const std::string& name) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  const socklen_t length = abstract_address(name, address);
  if (!fd.valid() ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return trouble("cannot reach the bench that started this worker");
  }
  return fd;
}

}  // namespace unisono::tools
