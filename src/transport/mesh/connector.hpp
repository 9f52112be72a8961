// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Makes connections while the job runs: again when one broke, or for the first time when ranks
// connect on first use. Both ends of a pair may call each other at the same time; which of two
// connections counts follows from their turns, alike at both ends.
// Thread: the one that drives the engine. Nothing blocks.
#pragma once

#include <memory>
#include <vector>

#include "transport/mesh/frame.hpp"
#include "transport/stream.hpp"

namespace unisono::transport {

// Connections of a lane are numbered by the end that calls: one more than it has seen. Of two with
// one number, that of the higher rank counts.
struct Turn {
  std::uint32_t number = 0;                 // 0: there is none yet
  bool by_higher = false;
  friend auto operator<=>(const Turn&, const Turn&) = default;
};

struct Connection {
  Rank peer = 0;
  LaneId lane;
  Turn turn;
  bool by_me = false;                       // this rank called
  std::unique_ptr<Stream> stream;
  LaneSecret secret;
};

// The peer cannot be connected with any more: it has ended, or another job answers in its place.
struct Unreachable {
  Rank peer = 0;
  Status why;
};

class Connector {
 public:
  virtual ~Connector() = default;
  // Calls the peer until it answers, is found to be unreachable, or stop() is called.
  virtual void seek(Rank peer, LaneId lane, std::uint32_t number) = 0;
  virtual void stop(Rank peer, LaneId lane) = 0;
  // What has come about since the last time: connections by either end, and peers that are gone.
  virtual std::vector<Connection> take_connections() = 0;
  virtual std::vector<Unreachable> take_unreachable() = 0;
  virtual bool has_news() const = 0;
};

}  // namespace unisono::transport
