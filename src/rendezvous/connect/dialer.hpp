// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Calls peers that have several addresses each. It tries one address after the other, gives each a
// while to answer, and begins again, more patiently, until one does. An address may lead nowhere,
// or to another host that happens to have it, too: only a peer that proves who it is has answered.
// Thread: the joining one.
#pragma once

#include <string>
#include <vector>

#include "rendezvous/bootstrap/bootstrap_loop.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {

class Dialer {
 public:
  // Whether the peers may not listen yet, or did so and must have ended where nobody listens.
  enum class Peers : std::uint8_t { may_come, listen };
  // `as` says who calls, and for what purpose; its `to` and `turn` are filled in.
  Dialer(BootstrapLoop& bootstrap, Hello as, Peers peers = Peers::may_come)
      : bootstrap_(bootstrap), as_(as), peers_(peers) {}

  // sure: it has answered at these addresses before, so that it has ended where nobody listens;
  // otherwise it may only be unreachable there, and is given some time to call this rank.
  void seek(Rank peer, std::vector<HostPort> addresses, std::uint32_t turn = 0, bool sure = true);
  void stop(Rank peer);
  // Takes note of the calls that have ended and moves on from those that take too long. Call it
  // after every turn of the loop. Returns an error that names a peer once it has refused at all its
  // addresses; it is not sought any more.
  Status advance();
  // When advance() must run although nothing has happened.
  Time due() const;
  bool seeking() const { return !searches_.empty(); }
  // What happened last at a peer that is still sought, for a message; "" when none is.
  std::string trouble() const;

  struct Answer {
    Rank peer = 0;
    HostPort at;
    Called call;
  };
  std::vector<Answer> answers;          // filled by advance(); the caller removes those it handles

 private:
  struct Search {
    Rank peer = 0;
    std::vector<HostPort> addresses;
    std::uint32_t turn = 0;
    Nanos grace{0};                     // after which nobody listening means that it has ended
    Time nobody_since;
    std::size_t at = 0;                 // the address that is tried
    std::size_t refusals = 0;           // in this round
    Nanos patience;                     // with one address
    bool calling = false;
    Time until;                         // calling: give up on this address; else: try it
    std::string last = "it does not answer";
  };
  void try_address(Search& search);
  void note(Search& search, const std::string& what);
  void move_on(Search& search);

  BootstrapLoop& bootstrap_;
  Hello as_;
  Peers peers_;
  std::vector<Search> searches_;
};

}  // namespace unisono::rendezvous
