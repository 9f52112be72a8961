// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <cerrno>

#include "base/data/text.hpp"
#include "doctor/traffic.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::tools {

Status TrafficServer::listen(const std::string& host) {
  auto listener = rendezvous::listen_tcp(host, 0);
  if (!listener) return listener.status();
  const auto port = rendezvous::port_of(*listener);
  if (!port) return port.status();
  listeners_.push_back(std::move(*listener));
  addresses_.push_back(rendezvous::address_text(host, port.value()));
  return {};
}

void TrafficServer::watch(std::vector<pollfd>& fds) const {
  for (const Fd& listener : listeners_) fds.push_back({listener.get(), POLLIN, 0});
  for (const int fd : acceptor_.pending()) fds.push_back({fd, POLLIN, 0});
  for (const Line& line : lines_) fds.push_back({line.socket.get(), POLLIN, 0});
}

void TrafficServer::pump(Time now) {
  for (const Fd& listener : listeners_) acceptor_.accept_from(listener.get(), now);
  for (rendezvous::Arrival& arrival : acceptor_.step(now)) {
    if (lines_.size() < kLinesMax) lines_.push_back({std::move(arrival.socket)});
  }
  std::erase_if(lines_, [&](Line& line) { return !serve(line); });
}

bool TrafficServer::serve(Line& line) {
  // A limited number of reads, so that a fast line does not keep the others waiting.
  for (int i = 0; i < 16; ++i) {
    const ssize_t n = ::recv(line.socket.get(), buffer_.data(), buffer_.size(), 0);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (n == 0) {
      if (line.swallows) {
        ::send(line.socket.get(), &line.swallowed, sizeof line.swallowed, MSG_NOSIGNAL);
      }
      return false;
    }
    std::size_t at = 0;
    const auto count = static_cast<std::size_t>(n);
    for (; at < count && !line.swallows; ++at) {
      line.swallows = buffer_[at] == 'b';
      if (line.swallows) continue;
      if (buffer_[at] != 'p') return false;
      if (::send(line.socket.get(), "p", 1, MSG_NOSIGNAL) != 1) return false;
    }
    line.swallowed += count - at;
  }
  return true;
}

}  // namespace unisono::tools
