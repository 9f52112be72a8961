// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The one place where a joining rank sleeps. It waits at the same time for incoming connections,
// for the connections it has started and for the channels it reads, so that no single one of them
// can stall the join. While the job runs it serves the connections that are made later
// (connect/live_connector.hpp), without sleeping.
// Thread: the joining one; later the one that drives the engine.
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/handshake/handshake_acceptor.hpp"
#include "rendezvous/handshake/record_stream.hpp"

namespace unisono::rendezvous {

// How a call ended. The socket and the session are valid when the status is ok.
struct Called {
  Hello hello;
  Status status;
  Fd socket;
  Session session;
  bool nobody_listens = false;          // the connection itself was refused
};

class BootstrapLoop {
 public:
  // Room for one connection of each kind from `size` ranks, and for some strangers.
  BootstrapLoop(const JobKey& key, Rank self, int size, const Clock& clock,
                std::uint32_t incarnation = 0);

  void open(Fd listener) { listeners_.push_back(std::move(listener)); }
  // The same with a listener that belongs to somebody else.
  void serve(const Fd& listener) { served_ = &listener; }
  // Returns the first listener that was opened and closes the others.
  Fd take_first_listener();
  // `connecting` comes from start_tcp or start_unix.
  void call(const Hello& hello, Fd connecting);
  // Ends a call that has not been answered.
  void hang_up(Purpose purpose, Rank to);
  std::size_t calls_pending() const { return calls_.size(); }

  // Sleeps until something is ready or `until`, then advances all handshakes, calls and channels.
  void turn(Time until, std::span<RecordStream* const> channels = {});
  Time now() const { return clock_.now(); }
  // What turn() sleeps on, but for the channels.
  std::vector<pollfd> descriptors() const;
  // Called with a descriptor that is about to be closed or handed over.
  std::function<void(int)> before_close = [](int) {};

  std::vector<Arrival> arrivals;  // filled by turn(); the caller removes those it handles
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
  std::vector<int> listening() const;

  JobKey key_;
  const Clock& clock_;
  HandshakeAcceptor acceptor_;
  std::vector<Fd> listeners_;
  const Fd* served_ = nullptr;
  std::vector<Call> calls_;
};

}  // namespace unisono::rendezvous
