// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The Transport over streams: to each peer one of control messages and one or several of data.
// Streams may be of any kind, so that peers on this host use shared memory and the others TCP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/os/doorbell.hpp"
#include "base/os/poller.hpp"
#include "model/peer.hpp"
#include "transport/mesh/connector.hpp"
#include "transport/mesh/frame_seal.hpp"
#include "transport/stream.hpp"
#include "transport/transport.hpp"

namespace unisono::transport {

struct LaneStream {
  std::unique_ptr<Stream> stream;       // null: connected on first use
  LaneSecret secret;
};

struct PeerLanes {
  LaneStream control;
  std::vector<LaneStream> data;         // empty: connected on first use
  bool can_fall_silent = true;          // false for threads of one process: no heartbeat needed
  bool heal_possible = false;           // true where a connection can be made again
  // Shared memory only: the peer's arena, and its bell with what keeps the bell alive.
  Fd arena;
  Ringer bell;
  std::shared_ptr<const void> bell_keeper;
};

struct MeshSettings {
  std::string name = "mesh";            // "shm", "tcp", "inproc", or a mix: "shm+tcp"
  Rank rank = 0;
  std::uint32_t epoch = 1;              // sent in every frame; another one fails the link
  Nanos suspect_after{0}, dead_after{0};  // silence on the control lane
  std::vector<PeerInfo> peers;          // by rank, this one included
  // Makes connections later; null: what breaks is lost, and all lanes are there from the start.
  std::shared_ptr<Connector> connector;
  // Which broken connections are made again, where there is a connector.
  enum class Heal : std::uint8_t { never, where_it_can_break, always } heal = Heal::never;
  // With whom this rank exchanges heartbeats, by rank; empty: with everybody. Whoever is connected on
  // first use and is none of these falls silent without being missed.
  std::vector<bool> beats_with;
  // Of each pair, also of one that is connected on first use; equal on all ranks.
  std::size_t stripes = 1;
  // Threads that move the data over TCP; 0: whoever drives the engine does. They ring this bell.
  std::size_t io_threads = 0;
  Nanos io_spin{0};                     // how long they look for more before they sleep
  Ringer bell;
  // The poller that watches the streams, with the keys first_key + rank, so that a pass over many
  // peers reads only from those that have news. Null: it tries all of them.
  Poller* poller = nullptr;
  std::uint64_t first_key = 0;
};

// lanes is by rank; the entry of this rank is empty.
std::unique_ptr<Transport> make_mesh(MeshSettings settings, std::vector<PeerLanes> lanes);

struct TcpLane {
  Fd socket;
  LaneSecret secret;
};
// Lanes over connected, authenticated TCP sockets, by their numbers. The poller watches them with
// `key`.
PeerLanes make_tcp_lanes(std::vector<TcpLane> lanes, Poller& poller, std::uint64_t key);

// Lanes over rings in a memfd that both processes map. Runs over a connected, authenticated unix
// socket: the side with `create` makes the memory and passes it, the other side maps it; both pass
// their doorbell and, where given, their arena (a sealed memfd). Blocks at most until the deadline,
// which counts from the call. The socket stays open and the poller watches it with `key`: when it
// ends, the peer has ended. Returns unavailable when the memory cannot be shared; both sides then
// get that answer and may use TCP.
Result<PeerLanes> make_shm_lanes(Fd socket, bool create, const Doorbell& bell, Poller& poller,
                                 std::uint64_t key, std::uint64_t check_seed, Nanos deadline,
                                 int arena = -1);

// Ranks as threads: every pair shares heap rings. Thread-safe. Each rank joins once.
class InprocWorld {
 public:
  explicit InprocWorld(int size);
  ~InprocWorld();
  int size() const;
  // The bell is rung when something arrives for this rank. Waits until every rank has joined, for
  // at most `deadline`; then returns timed_out with the missing ranks.
  Result<std::unique_ptr<Transport>> join(Rank rank, Doorbell& bell, Nanos deadline);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace unisono::transport
