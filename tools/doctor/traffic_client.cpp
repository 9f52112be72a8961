// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "base/data/text.hpp"
#include "doctor/traffic.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::tools {
namespace {

constexpr Nanos kPingFor = std::chrono::milliseconds(100);
constexpr Nanos kSendFor = std::chrono::milliseconds(300);
constexpr Nanos kArriveWithin = std::chrono::seconds(3);
constexpr std::size_t kPingsMax = 200;

const SteadyClock kClock;

int left_ms(Time until) {
  const std::int64_t left = (until - kClock.now()).count() / 1'000'000;
  return static_cast<int>(std::max<std::int64_t>(left, 0)) + 1;
}

// Returns whether the socket became ready in time. A broken connection is ready, too.
bool ready_within(const Fd& socket, short events, Time until) {
  while (kClock.now() < until) {
    pollfd one{socket.get(), events, 0};
    const int n = ::poll(&one, 1, left_ms(until));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
  }
  return false;
}

// One address on the way from a name to a proved connection.
class Attempt {
 public:
  Attempt(const std::string& address, const rendezvous::JobKey& key)
      : handshake_(std::make_unique<rendezvous::ClientHandshake>(key, hello())) {
    reached_.address = address;
    const auto to = rendezvous::parse_address(address);
    auto socket = to ? rendezvous::start_tcp(to.value()) : Result<Fd>(to.status());
    if (socket) {
      reached_.socket = std::move(*socket);
    } else {
      fail(socket.status().message());
    }
  }

  bool pending() const { return !over_; }
  pollfd watch() const {
    return {reached_.socket.get(), static_cast<short>(connected_ ? POLLIN : POLLOUT), 0};
  }
  void step() {
    if (!connected_) {
      if (const int error = rendezvous::connect_error(reached_.socket); error != 0) {
        return fail(std::strerror(error));
      }
      connected_ = true;
    }
    const auto state = handshake_->step(reached_.socket.get());
    if (state == rendezvous::HandshakeState::failed) {
      return fail(handshake_->status().code() == Code::refused
                      ? "somebody else answers there"
                      : "the connection was closed before both ends had proved themselves");
    }
    over_ = state == rendezvous::HandshakeState::done;
  }
  void fail(std::string why) {
    reached_.trouble = std::move(why);
    reached_.socket.reset();
    over_ = true;
  }
  bool connected() const { return connected_; }
  Reached take() { return std::move(reached_); }

 private:
  static rendezvous::Hello hello() {
    return {rendezvous::kProtocolVersion, rendezvous::Purpose::data, 1, 2, 0};
  }

  Reached reached_;
  std::unique_ptr<rendezvous::ClientHandshake> handshake_;
  bool connected_ = false, over_ = false;
};

Status broken(const char* during) {
  return Status(Code::unavailable, cat("the connection broke or stood still while ", during));
}

Result<double> median_round_trip_us(const Fd& socket) {
  std::vector<double> times_us;
  const Time until = kClock.now() + kPingFor, patience = kClock.now() + kArriveWithin;
  while (times_us.size() < kPingsMax && (times_us.empty() || kClock.now() < until)) {
    const Time sent = kClock.now();
    char answer = 0;
    if (::send(socket.get(), "p", 1, MSG_NOSIGNAL) != 1 ||
        !ready_within(socket, POLLIN, patience) || ::recv(socket.get(), &answer, 1, 0) != 1) {
      return broken("round trips were timed");
    }
    times_us.push_back(nanos_to_seconds(kClock.now() - sent) * 1e6);
  }
  return median_of(std::move(times_us));
}

Result<double> gb_per_s_through(const Fd& socket) {
  std::vector<char> bytes(1 << 18, 'x');
  bytes[0] = 'b';  // the first byte says what the others are for
  const Time began = kClock.now(), until = began + kSendFor, patience = until + kArriveWithin;
  while (kClock.now() < until) {
    const ssize_t n = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) bytes[0] = 'x';
    if (n >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return broken("bytes were sent");
    ready_within(socket, POLLOUT, until);
  }
  ::shutdown(socket.get(), SHUT_WR);
  std::uint64_t arrived = 0;
  auto rest = std::as_writable_bytes(std::span(&arrived, 1));
  while (!rest.empty()) {
    if (!ready_within(socket, POLLIN, patience)) return broken("bytes were to arrive");
    const ssize_t n = ::recv(socket.get(), rest.data(), rest.size(), 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return broken("bytes were to arrive");
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  return static_cast<double>(arrived) * 1e-9 / nanos_to_seconds(kClock.now() - began);
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<Reached> reach_servers(const std::vector<std::string>& addresses,
                                   const rendezvous::JobKey& key, Time until) {
  std::vector<Attempt> attempts;
  for (const std::string& address : addresses) attempts.emplace_back(address, key);
  for (;;) {
    std::vector<pollfd> fds;
    std::vector<Attempt*> waiting;
    for (Attempt& attempt : attempts) {
      if (!attempt.pending()) continue;
      fds.push_back(attempt.watch());
      waiting.push_back(&attempt);
    }
    if (fds.empty() || kClock.now() >= until) break;
    if (::poll(fds.data(), fds.size(), left_ms(until)) <= 0) continue;
    for (std::size_t i = 0; i < fds.size(); ++i) {
      if (fds[i].revents != 0) waiting[i]->step();
    }
  }
  std::vector<Reached> all;
  for (Attempt& attempt : attempts) {
    if (attempt.pending()) {
      attempt.fail(attempt.connected() ? "it connects but nobody answers" : "no answer");
    }
    all.push_back(attempt.take());
  }
  return all;
}

Result<Traffic> measure_traffic(const Fd& socket) {
  const auto round_trip_us = median_round_trip_us(socket);
  if (!round_trip_us) return round_trip_us.status();
  const auto gb_per_s = gb_per_s_through(socket);
  if (!gb_per_s) return gb_per_s.status();
  return Traffic{gb_per_s.value(), round_trip_us.value()};
}

}  // namespace unisono::tools
