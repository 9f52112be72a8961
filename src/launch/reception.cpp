// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "launch/reception.hpp"

#include <sys/socket.h>

#include <algorithm>

#include "launch/sockets.hpp"

namespace unisono {

Reception::Reception(const JobKey& key, Rank self, std::size_t most_pending)
    : key_(key), self_(self), most_pending_(most_pending) {}

std::vector<int> Reception::accept_from(int listener, Time now) {
  std::vector<int> taken;
  for (;;) {
    Fd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) return taken;
    if (guests_.size() >= most_pending_) {
      // Leaving it in the queue would keep the listener readable and the poller awake.
      ++strangers_;
      continue;
    }
    set_nodelay(socket);
    taken.push_back(socket.get());
    guests_.push_back(
        {std::move(socket), std::make_unique<ServerHandshake>(key_, self_), now + kPatience});
  }
}

std::vector<Arrival> Reception::step(Time now) {
  std::vector<Arrival> arrivals;
  for (Guest& guest : guests_) {
    const HandshakeState state = guest.handshake->step(guest.socket.get());
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
  Time earliest = kNever;
  for (const Guest& guest : guests_) earliest = std::min(earliest, guest.until);
  return earliest;
}

}  // namespace unisono
