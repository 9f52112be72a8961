// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Two ends of a TCP connection that is measured: the server echoes and swallows, the client keeps
// the time. Both prove first that they have the same key, by the handshake of a job, so that nobody
// else can use the server, and whoever answers is the server that was meant.
//
// After the handshake the client sends
//   p            and gets a p back; as often as it likes
//   b bytes...   until it closes its side, and gets how many they were (8 bytes, little-endian)
//
// Thread: one. The server never waits; the client's calls wait for as long as they are told.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/os/fd.hpp"
#include "rendezvous/handshake/handshake_acceptor.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

class TrafficServer {
 public:
  explicit TrafficServer(const rendezvous::JobKey& key) : acceptor_(key, 0, kCandidatesMax) {}

  // Listens at one address of this machine, on a port of its own.
  Status listen(const std::string& host);
  // "host:port" of everything it listens on.
  const std::vector<std::string>& addresses() const { return addresses_; }
  void watch(std::vector<pollfd>& fds) const;
  void pump(Time now);
  // When pump() must run although nothing of watch() is ready.
  Time deadline() const { return acceptor_.deadline(); }

 private:
  static constexpr std::size_t kCandidatesMax = 16, kLinesMax = 16;
  struct Line {
    Fd socket;
    bool swallows = false;
    std::uint64_t swallowed = 0;
  };
  // Returns false when the line is to be closed.
  bool serve(Line& line);

  rendezvous::HandshakeAcceptor acceptor_;
  std::vector<Fd> listeners_;
  std::vector<std::string> addresses_;
  std::vector<Line> lines_;
  std::vector<char> buffer_ = std::vector<char>(1 << 18);
};

// One address that was tried.
struct Reached {
  std::string address;
  Fd socket;            // connected and proved, unless there was trouble
  std::string trouble;  // why not; "" when it was reached
};
// Tries all addresses at once, until the time is over.
std::vector<Reached> reach_servers(const std::vector<std::string>& addresses,
                                   const rendezvous::JobKey& key, Time until);

struct Traffic {
  double gb_per_s = 0, round_trip_us = 0;  // the median round trip
};
// Sends for 0.3 s, and waits at most 3 s for it to arrive.
Result<Traffic> measure_traffic(const Fd& socket);

double median_of(std::vector<double> values);  // 0 of none

}  // namespace unisono::tools
