// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The one place a joining rank sleeps: everyone who knocks, everyone it calls, and the channels it
// listens to, side by side, so that no single one can stall the join.
// Thread: the joining one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/handshake/handshake_acceptor.hpp"
#include "rendezvous/handshake/record_stream.hpp"

namespace unisono::rendezvous {

// How a call ended; the socket and session are there when the status is ok.
struct Called {
  Hello hello;
  Status status;
  Fd socket;
  Session session;
};

class BootstrapLoop {
 public:
  BootstrapLoop(const JobKey& key, Rank self, int size, const Clock& clock);

  void open(Fd listener) { listeners_.push_back(std::move(listener)); }
  // Hands back the first listener that was opened and closes the others.
  Fd take_first_listener();
  // `connecting` comes from start_tcp or start_unix.
  void call(const Hello& hello, Fd connecting);
  std::size_t calls_pending() const { return calls_.size(); }

  // Sleeps until something happens or `until`, then moves everything that can move.
  void turn(Time until, std::span<RecordStream* const> channels = {});
  Time now() const { return clock_.now(); }

  std::vector<Arrival> arrivals;  // filled by turn(); the caller takes what it knows
  std::vector<Called> called;     // likewise
  const HandshakeAcceptor& acceptor() const { return acceptor_; }

 private:
  struct Call {
    Hello hello;
    Fd socket;
    std::unique_ptr<ClientHandshake> handshake;
    bool connected = false;
  };
  bool advance(Call& call);

  JobKey key_;
  const Clock& clock_;
  HandshakeAcceptor acceptor_;
  std::vector<Fd> listeners_;
  std::vector<Call> calls_;
};

}  // namespace unisono::rendezvous
