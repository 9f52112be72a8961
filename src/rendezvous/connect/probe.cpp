// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/probe.hpp"

#include <poll.h>

#include <cerrno>

#include <algorithm>

#include "rendezvous/connect/addresses.hpp"

namespace unisono::rendezvous {
namespace {

bool answers_at(const HostPort& address, const JobNote& note, const Hello& as, Nanos patience) {
  auto socket = start_tcp(address);
  if (!socket) return false;
  const SteadyClock clock;
  const Time until = clock.now() + patience;
  ClientHandshake handshake(note.key, as);
  for (bool connected = false;;) {
    const auto left_ms = (until - clock.now()).count() / 1'000'000;
    pollfd ready{socket->get(), static_cast<short>(connected ? POLLIN : POLLOUT), 0};
    if (left_ms <= 0) return false;
    const int n = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left_ms, 60'000)));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    if (!connected && connect_error(*socket) != 0) return false;
    connected = true;
    const HandshakeState state = handshake.step(socket->get());
    if (state != HandshakeState::pending) return state == HandshakeState::done;
  }
}

}  // namespace

bool rank_zero_answers(const JobNote& note, const Hello& as, Nanos patience) {
  const auto addresses = parse_addresses(note.address);
  if (!addresses) return false;
  const auto each = patience / static_cast<std::int64_t>(addresses.value().size());
  return std::ranges::any_of(addresses.value(), [&](const HostPort& address) {
    return answers_at(address, note, as, each);
  });
}

}  // namespace unisono::rendezvous
