// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One end of a handshake reads arbitrary bytes; or both ends run it while somebody between them
// changes one message, and then they must not both believe that it is done.
#include <fcntl.h>
#include <sys/socket.h>

#include "base/os/fd.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

const rendezvous::JobKey kKey{1, 2, 3};
const rendezvous::Hello kHello{
    rendezvous::kProtocolVersion,    rendezvous::Purpose::control, 3, 4, 1,
    transport::SealKind::aes_256_gcm};

struct Pair {
  Fd end, other;
  Pair() {
    int pair[2];
    must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0,
         "no socket pair");
    end = Fd(pair[0]);
    other = Fd(pair[1]);
  }
  Bytes take() const {
    Bytes bytes(4096);
    const ssize_t n = ::recv(other.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return bytes;
  }
  void give(std::span<const std::byte> bytes) const {
    static_cast<void>(::send(other.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
};

void relay(Choices choices) {
  rendezvous::ClientHandshake client(kKey, kHello);
  rendezvous::ServerHandshake server(kKey, 1);
  const Pair c, s;
  const unsigned victim = choices.below(5);
  bool changed = false;
  for (unsigned i = 0; i < 4; ++i) {
    const bool from_client = i % 2 == 0;
    if (from_client) {
      client.step(c.end.get());
    } else {
      server.step(s.end.get());
    }
    Bytes message = (from_client ? c : s).take();
    if (i == victim) changed = damage(message, choices);
    (from_client ? s : c).give(message);
  }
  const bool done = client.step(c.end.get()) == rendezvous::HandshakeState::done &&
                    server.step(s.end.get()) == rendezvous::HandshakeState::done;
  must(done == !changed, "a handshake that was tampered with was believed, or a whole one was not");
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const unsigned what = choices.below(3);
  if (what == 2) return relay(choices);
  rendezvous::Hello hello;
  static_cast<void>(rendezvous::parse_hello(choices.rest(), hello));
  const Pair pair;
  rendezvous::ClientHandshake client(kKey, kHello);
  rendezvous::ServerHandshake server(kKey, 1);
  for (int piece = 0; piece < 3 && (piece == 0 || !choices.empty()); ++piece) {
    const std::size_t length = piece == 2 ? 4096 : choices.byte();
    pair.give(choices.take(length));
    const auto state = what == 0 ? server.step(pair.end.get()) : client.step(pair.end.get());
    must(state != rendezvous::HandshakeState::done, "bytes without the key were believed");
    if (state == rendezvous::HandshakeState::failed) {
      must(!(what == 0 ? server.status() : client.status()).ok(), "a failure without a reason");
    }
  }
}

std::vector<Bytes> seeds() {
  rendezvous::ClientHandshake client(kKey, kHello);
  rendezvous::ServerHandshake server(kKey, 1);
  const Pair c, s;
  client.step(c.end.get());
  const Bytes hello = c.take();
  s.give(hello);
  server.step(s.end.get());
  const Bytes answer = s.take();
  return {chosen(0, chosen(255, hello)), chosen(1, chosen(255, answer)),
          chosen(2, bytes_of(std::string_view("\4\0\0", 3))), chosen(2, bytes_of("\1\11\1"))};
}

}  // namespace unisono::fuzz
