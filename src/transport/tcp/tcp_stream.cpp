// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_stream.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/data/text.hpp"
#include "transport/mesh/mesh.hpp"

namespace unisono::transport {
namespace {
bool is_try_again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

Status broken_by(int error) {
  return Status(Code::peer_lost,
                cat("the TCP connection broke: ", std::generic_category().message(error)));
}
}  // namespace

TcpStream::TcpStream(Fd socket, Poller& poller, std::uint64_t key, SealKind seal)
    : socket_(std::move(socket)),
      poller_(&poller),
      key_(key),
      on_this_host_(stays_on_this_host()),
      keeps_bytes_(seal == SealKind::hash && on_this_host_),
      stage_(new std::byte[kStageBytes]) {
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  ::fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  poller_->watch_stream(socket_.get(), key_, true, false);
}

TcpStream::~TcpStream() {
  if (watched_) poller_->forget_stream(socket_.get());
}

std::size_t TcpStream::write(const Spans& spans) {
  iovec parts[std::tuple_size_v<Spans>];
  msghdr message{};
  message.msg_iov = parts;
  for (const auto& span : spans) {
    if (span.empty()) continue;
    parts[message.msg_iovlen++] = {const_cast<std::byte*>(span.data()), span.size()};
  }
  const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n >= 0) return static_cast<std::size_t>(n);
  if (!is_try_again(errno)) end(broken_by(errno));
  return 0;
}

std::size_t TcpStream::read(std::span<std::byte> bytes) {
  if (bytes.empty()) return 0;
  if (staged_from_ == staged_to_) {
    if (std::exchange(drained_, false)) return 0;
    if (bytes.size() >= kStageBytes) return receive(bytes.data(), bytes.size());
    staged_from_ = 0;
    staged_to_ = receive(stage_.get(), kStageBytes);
  }
  const std::size_t n = std::min(bytes.size(), staged_to_ - staged_from_);
  std::memcpy(bytes.data(), stage_.get() + staged_from_, n);
  staged_from_ += n;
  return n;
}

std::size_t TcpStream::receive(std::byte* to, std::size_t most) {
  const ssize_t n = ::recv(socket_.get(), to, most, MSG_DONTWAIT);
  if (n > 0) {
    drained_ = static_cast<std::size_t>(n) < most;
    return static_cast<std::size_t>(n);
  }
  if (n == 0) {
    closed_by_peer_ |= health_.ok();        // an end is read more than once
    end(Status(Code::peer_lost, "the TCP connection was closed by the peer"));
  } else if (!is_try_again(errno)) {
    end(broken_by(errno));
  }
  return 0;
}

void TcpStream::end(Status why) {
  if (health_.ok()) health_ = std::move(why);
  // An ended socket stays readable for ever and would keep the engine from sleeping.
  if (std::exchange(watched_, false)) poller_->forget_stream(socket_.get());
}

bool TcpStream::watch_by(Poller& poller, std::uint64_t key) {
  if (watched_) poller_->forget_stream(socket_.get());
  poller_ = &poller;
  key_ = key;
  if (watched_) poller_->watch_stream(socket_.get(), key_, true, want_write_);
  return true;
}

void TcpStream::want_write(bool wanted) {
  if (wanted == want_write_) return;
  want_write_ = wanted;
  if (watched_) poller_->change_stream(socket_.get(), key_, true, want_write_);
}

void TcpStream::finish_writing() { ::shutdown(socket_.get(), SHUT_WR); }

// Whether both ends are of one kernel. Both ends find the same answer: what is loopback at one end
// is at the other.
bool TcpStream::stays_on_this_host() const {
  const auto is_loopback = [&](auto ask) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (ask(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return false;
    if (address.ss_family == AF_INET) {
      const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
      return (ntohl(v4.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
    }
    if (address.ss_family != AF_INET6) return false;
    // A socket for both families shows 127.0.0.1 as ::ffff:127.0.0.1.
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&v6) ||
           (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET);
  };
  return is_loopback(::getsockname) && is_loopback(::getpeername);
}

PeerLanes make_tcp_lanes(std::vector<TcpLane> lanes, Poller& poller, std::uint64_t key) {
  PeerLanes made;
  for (TcpLane& lane : lanes) {
    LaneStream one{
        std::make_unique<TcpStream>(std::move(lane.socket), poller, key, lane.secret.kind),
        lane.secret};
    if (&lane == &lanes.front()) {
      made.control = std::move(one);
    } else {
      made.data.push_back(std::move(one));
    }
  }
  made.can_fall_silent = true;
  made.heal_possible = true;
  return made;
}

}  // namespace unisono::transport
