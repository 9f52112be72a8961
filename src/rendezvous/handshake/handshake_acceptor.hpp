// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Everyone who knocks at a listening socket: a handshake each, side by side, so that nobody who is
// slow or lies can hold up those behind. Bounded: so many at once, so long each. When there
// is no room for one more, whoever has been silent longest goes: those who belong here are done in a
// moment, so silent connections cannot keep them out.
// Thread: one. Nothing blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/os/fd.hpp"
#include "rendezvous/handshake/handshake.hpp"

namespace unisono::rendezvous {

// Someone who proved that it belongs to the job.
struct Arrival {
  Fd socket;
  Hello hello;
  Session session;
};

class HandshakeAcceptor {
 public:
  static constexpr Nanos kPatience{2'000'000'000};

  HandshakeAcceptor(const JobKey& key, Rank self, std::size_t most_pending);
  // Told of a descriptor that is about to be closed or given away. Whoever watches it stops: in a
  // child that was forked meanwhile it stays open, and would be ready for ever.
  std::function<void(int)> before_close;
  // Takes those who wait at the listener, some at a time; gives the descriptors that are new.
  std::vector<int> accept_from(int listener, Time now);
  // Out of descriptors or memory: the listener stays readable, and is not worth a look until
  // deadline().
  bool resting(Time now) const { return now < rests_until_; }
  // Moves every handshake on; gives those that came through.
  std::vector<Arrival> step(Time now);
  std::vector<int> pending() const;
  // When the next one loses its turn or a rest ends; kNever when nobody waits.
  Time deadline() const;
  std::uint64_t strangers() const { return strangers_; }
  // Why the last one that spoke unisono was sent away; "" when there was none.
  const std::string& last_refusal() const { return last_refusal_; }

 private:
  struct Candidate {
    Fd socket;
    std::unique_ptr<ServerHandshake> handshake;
    Time until;
    bool is_new = true;
  };
  void make_room(Time now);
  void let_go(const Candidate& candidate) const;
  void rest(Time now, int error);
  JobKey key_;
  Rank self_;
  std::size_t most_pending_;
  std::vector<Candidate> candidates_;
  Time rests_until_;
  bool told_of_rest_ = false;
  std::uint64_t strangers_ = 0;
  std::string last_refusal_;
};

}  // namespace unisono::rendezvous
