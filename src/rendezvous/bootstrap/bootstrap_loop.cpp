// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/bootstrap_loop.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/data/text.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {
namespace {
// Room for this many strangers, in addition to one connection of each kind from every rank: to join,
// for shared memory, and for each lane.
constexpr std::size_t kStrangersPending = 16;
constexpr std::size_t kKinds = 3 + transport::kStripesMax;

int poll_ms(Nanos left) {
  const auto ms = (left.count() + 999'999) / 1'000'000;
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000));
}
}  // namespace

BootstrapLoop::BootstrapLoop(const JobKey& key, Rank self, int size, const Clock& clock,
                             std::uint32_t incarnation)
    : key_(key),
      clock_(clock),
      acceptor_(key, self, kKinds * static_cast<std::size_t>(size) + kStrangersPending, incarnation) {
  acceptor_.before_close = [this](int fd) { before_close(fd); };
}

std::vector<int> BootstrapLoop::listening() const {
  std::vector<int> fds;
  for (const Fd& listener : listeners_) fds.push_back(listener.get());
  if (served_ != nullptr && served_->valid()) fds.push_back(served_->get());
  return fds;
}

std::vector<pollfd> BootstrapLoop::descriptors() const {
  std::vector<pollfd> fds;
  const auto add = [&](int fd, int events) { fds.push_back({fd, static_cast<short>(events), 0}); };
  if (!acceptor_.resting(clock_.now())) {
    for (const int listener : listening()) add(listener, POLLIN);
  }
  for (const int fd : acceptor_.pending()) add(fd, POLLIN);
  for (const Call& call : calls_) add(call.socket.get(), call.connected ? POLLIN : POLLOUT);
  return fds;
}

Fd BootstrapLoop::take_first_listener() {
  Fd first = std::move(listeners_.front());
  listeners_.clear();
  return first;
}

void BootstrapLoop::call(const Hello& hello, Fd connecting) {
  calls_.push_back({hello, std::move(connecting), std::make_unique<ClientHandshake>(key_, hello)});
}

void BootstrapLoop::hang_up(Purpose purpose, Rank to) {
  std::erase_if(calls_, [&](const Call& call) {
    if (call.hello.purpose != purpose || call.hello.to != to) return false;
    before_close(call.socket.get());
    return true;
  });
}

// Returns true when the call has ended, with success or with an error.
bool BootstrapLoop::advance(Call& call) {
  if (!call.connected) {
    pollfd writable{call.socket.get(), POLLOUT, 0};
    if (::poll(&writable, 1, 0) == 0) return false;
    if (const int error = connect_error(call.socket); error != 0) {
      before_close(call.socket.get());
      called.push_back({call.hello, Status(Code::unavailable, std::strerror(error)), Fd(), {},
                        error == ECONNREFUSED});
      return true;
    }
    call.connected = true;
  }
  switch (call.handshake->step(call.socket.get())) {
    case HandshakeState::pending:
      return false;
    case HandshakeState::failed:
      before_close(call.socket.get());
      called.push_back({call.hello, call.handshake->status(), Fd(), {}});
      return true;
    case HandshakeState::done:
      before_close(call.socket.get());
      called.push_back({call.hello, {}, std::move(call.socket), call.handshake->session()});
      return true;
  }
  return true;
}

void BootstrapLoop::turn(Time until, std::span<RecordStream* const> channels) {
  std::vector<pollfd> fds = descriptors();
  for (const RecordStream* channel : channels) {
    if (!channel->status().ok()) continue;
    const int events = POLLIN | (channel->wants_write() ? POLLOUT : 0);
    fds.push_back({channel->fd(), static_cast<short>(events), 0});
  }
  const Time wake = std::min(until, acceptor_.deadline());
  ::poll(fds.data(), fds.size(), poll_ms(wake - clock_.now()));

  const auto receive = [this] {
    for (Arrival& arrival : acceptor_.step(clock_.now())) arrivals.push_back(std::move(arrival));
  };
  // Handshakes that have received data are advanced before accept_from() may drop a candidate.
  receive();
  for (const int listener : listening()) acceptor_.accept_from(listener, clock_.now());
  receive();
  std::erase_if(calls_, [this](Call& call) { return advance(call); });
  for (RecordStream* channel : channels) channel->pump();
}

}  // namespace unisono::rendezvous
