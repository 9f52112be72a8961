// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Runs a handshake with everyone who connects to a listening socket, all side by side, so that a
// slow or dishonest client cannot hold up the others. The number of handshakes and the time for
// each are limited. When there is no room for one more, the connection that has been silent longest
// is closed: ranks of the job complete their handshake quickly, so silent connections cannot keep
// them out.
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

// A connection whose other end has proved that it belongs to the job.
struct Arrival {
  Fd socket;
  Hello hello;
  Session session;
};

class HandshakeAcceptor {
 public:
  static constexpr Nanos kPatience{2'000'000'000};

  HandshakeAcceptor(const JobKey& key, Rank self, std::size_t most_pending,
                    std::uint32_t incarnation = 0);
  // Called with a descriptor that is about to be closed or handed over, so that whoever watches it
  // stops: in a child that was forked meanwhile the descriptor stays open, and would be ready for
  // ever.
  std::function<void(int)> before_close;
  // Accepts waiting connections, a limited number per call; returns the new descriptors.
  std::vector<int> accept_from(int listener, Time now);
  // True while descriptors or memory are short: the listener stays readable, but accepting is not
  // worth a try until deadline().
  bool resting(Time now) const { return now < rests_until_; }
  // Advances every handshake; returns those that have succeeded.
  std::vector<Arrival> step(Time now);
  std::vector<int> pending() const;
  // When the next candidate times out or a rest ends; kNever when there is neither.
  Time deadline() const;
  std::uint64_t strangers() const { return strangers_; }
  // Why the last candidate of another protocol version was refused; "" when there was none.
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
  std::uint32_t incarnation_;
  std::vector<Candidate> candidates_;
  Time rests_until_;
  bool told_of_rest_ = false;
  std::uint64_t strangers_ = 0;
  std::string last_refusal_;
};

}  // namespace unisono::rendezvous
