// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/handshake_acceptor.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/data/text.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {

namespace {
// Limits one call, so that a flood of connections cannot keep the caller here.
constexpr int kMostAccepts = 64;
constexpr Nanos kRest{100'000'000};
// A hello arrives one round trip after its connection.
constexpr Nanos kGrace{250'000'000};

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}
}  // namespace

HandshakeAcceptor::HandshakeAcceptor(const JobKey& key, Rank self, std::size_t most_pending,
                                     std::uint32_t incarnation)
    : key_(key), self_(self), most_pending_(most_pending), incarnation_(incarnation) {}

std::vector<int> HandshakeAcceptor::accept_from(int listener, Time now) {
  for (int i = 0; i < kMostAccepts && !resting(now); ++i) {
    Fd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      const int error = errno;
      if (error == EINTR || error == ECONNABORTED) continue;
      if (is_shortage(error)) rest(now, error);
      break;
    }
    if (candidates_.size() >= most_pending_) make_room(now);
    set_nodelay(socket);
    candidates_.push_back(
        {std::move(socket),
         std::make_unique<ServerHandshake>(key_, self_, kProtocolVersion, incarnation_),
         now + kPatience});
  }
  std::vector<int> taken;
  for (Candidate& candidate : candidates_) {
    if (std::exchange(candidate.is_new, false)) taken.push_back(candidate.socket.get());
  }
  return taken;
}

void HandshakeAcceptor::rest(Time now, int error) {
  rests_until_ = now + kRest;
  if (std::exchange(told_of_rest_, true)) return;
  log_line(LogLevel::warn,
           cat("rank ", self_, " cannot take a connection: ", std::strerror(error),
               "; it tries again every ", kRest.count() / 1'000'000,
               " ms. Raise the number of descriptors (ulimit -n) or free some"));
}

void HandshakeAcceptor::make_room(Time now) {
  // In order of arrival: removes the first candidate that has sent nothing for a while, else the
  // first of all. A candidate that has just connected may be about to send its hello, so it is
  // kept, unless silent candidates hold more than half of the places.
  const auto is_silent = [](const Candidate& candidate) { return !candidate.handshake->greeted(); };
  const auto many = std::count_if(candidates_.begin(), candidates_.end(), is_silent) >
                    static_cast<std::ptrdiff_t>(most_pending_ / 2);
  const auto silent =
      std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
        return is_silent(candidate) && (many || candidate.until + kGrace <= now + kPatience);
      });
  const auto leaves = silent == candidates_.end() ? candidates_.begin() : silent;
  let_go(*leaves);
  candidates_.erase(leaves);
  ++strangers_;
}

void HandshakeAcceptor::let_go(const Candidate& candidate) const {
  if (before_close) before_close(candidate.socket.get());
}

std::vector<Arrival> HandshakeAcceptor::step(Time now) {
  if (!resting(now)) rests_until_ = Time();
  std::vector<Arrival> arrivals;
  for (Candidate& candidate : candidates_) {
    const HandshakeState state = candidate.handshake->step(candidate.socket.get());
    if (state != HandshakeState::pending || candidate.until <= now) let_go(candidate);
    if (state == HandshakeState::done) {
      arrivals.push_back({std::move(candidate.socket), candidate.handshake->hello(),
                          candidate.handshake->session()});
    } else if (state == HandshakeState::failed || candidate.until <= now) {
      ++strangers_;
      if (candidate.handshake->hello().version != kProtocolVersion) {
        last_refusal_ = candidate.handshake->status().message();
      }
      candidate.socket.reset();
    }
  }
  std::erase_if(candidates_, [](const Candidate& candidate) { return !candidate.socket.valid(); });
  return arrivals;
}

std::vector<int> HandshakeAcceptor::pending() const {
  std::vector<int> fds;
  for (const Candidate& candidate : candidates_) fds.push_back(candidate.socket.get());
  return fds;
}

Time HandshakeAcceptor::deadline() const {
  Time earliest = rests_until_ == Time() ? kNever : rests_until_;
  for (const Candidate& candidate : candidates_) earliest = std::min(earliest, candidate.until);
  return earliest;
}

}  // namespace unisono::rendezvous
