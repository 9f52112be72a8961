// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/reception.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/data/text.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono {

namespace {
// So that a flood cannot keep the caller here.
constexpr int kMostAccepts = 64;
constexpr Nanos kRest{100'000'000};
// A hello follows its connection by a round trip.
constexpr Nanos kGrace{250'000'000};

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}
}  // namespace

Reception::Reception(const JobKey& key, Rank self, std::size_t most_pending)
    : key_(key), self_(self), most_pending_(most_pending) {}

std::vector<int> Reception::accept_from(int listener, Time now) {
  for (int i = 0; i < kMostAccepts && !resting(now); ++i) {
    Fd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      const int error = errno;
      if (error == EINTR || error == ECONNABORTED) continue;
      if (is_shortage(error)) rest(now, error);
      break;
    }
    if (guests_.size() >= most_pending_) make_room(now);
    set_nodelay(socket);
    guests_.push_back(
        {std::move(socket), std::make_unique<ServerHandshake>(key_, self_), now + kPatience});
  }
  std::vector<int> taken;
  for (Guest& guest : guests_) {
    if (std::exchange(guest.is_new, false)) taken.push_back(guest.socket.get());
  }
  return taken;
}

void Reception::rest(Time now, int error) {
  rests_until_ = now + kRest;
  if (std::exchange(told_of_rest_, true)) return;
  log_line(LogLevel::warn,
           cat("rank ", self_, " cannot take a connection: ", std::strerror(error),
               "; it tries again every ", kRest.count() / 1'000'000,
               " ms. Raise the number of descriptors (ulimit -n) or free some"));
}

void Reception::make_room(Time now) {
  // In order of arrival; those who have said nothing for a while go before those who have. Whoever has
  // just come may still be on the point of speaking, so new guests that are silent may fill half of the
  // places, and no more.
  const auto is_silent = [](const Guest& guest) { return !guest.handshake->greeted(); };
  const auto many = std::count_if(guests_.begin(), guests_.end(), is_silent) >
                    static_cast<std::ptrdiff_t>(most_pending_ / 2);
  const auto silent = std::find_if(guests_.begin(), guests_.end(), [&](const Guest& guest) {
    return is_silent(guest) && (many || guest.until + kGrace <= now + kPatience);
  });
  const auto leaves = silent == guests_.end() ? guests_.begin() : silent;
  let_go(*leaves);
  guests_.erase(leaves);
  ++strangers_;
}

void Reception::let_go(const Guest& guest) const {
  if (before_close) before_close(guest.socket.get());
}

std::vector<Arrival> Reception::step(Time now) {
  if (!resting(now)) rests_until_ = Time();
  std::vector<Arrival> arrivals;
  for (Guest& guest : guests_) {
    const HandshakeState state = guest.handshake->step(guest.socket.get());
    if (state != HandshakeState::pending || guest.until <= now) let_go(guest);
    if (state == HandshakeState::done) {
      arrivals.push_back(
          {std::move(guest.socket), guest.handshake->hello(), guest.handshake->session()});
    } else if (state == HandshakeState::failed || guest.until <= now) {
      ++strangers_;
      if (guest.handshake->hello().version != kProtocolVersion) {
        last_refusal_ = guest.handshake->status().message();
      }
      guest.socket.reset();
    }
  }
  std::erase_if(guests_, [](const Guest& guest) { return !guest.socket.valid(); });
  return arrivals;
}

std::vector<int> Reception::pending() const {
  std::vector<int> fds;
  for (const Guest& guest : guests_) fds.push_back(guest.socket.get());
  return fds;
}

Time Reception::deadline() const {
  Time earliest = rests_until_ == Time() ? kNever : rests_until_;
  for (const Guest& guest : guests_) earliest = std::min(earliest, guest.until);
  return earliest;
}

}  // namespace unisono
