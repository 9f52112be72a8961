// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Joining a job: find out who we are from the environment, meet the others, prove we belong, and
// come out with a connected Transport. Blocks, with a deadline; runs before the engine thread.
//
// How strangers are kept out: docs/WIRE_FORMAT.md, "Hello". Loopback unless hosts are named.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arena/neighbourhood.hpp"
#include "base/clock.hpp"
#include "base/os/doorbell.hpp"
#include "base/os/poller.hpp"
#include "model/peer.hpp"
#include "transport/transport.hpp"
#include "unisono/options.hpp"
#include "unisono/unisono.hpp"

namespace unisono::rendezvous {

// Where this process sits, before it has met anyone.
struct LaunchIdentity {
  Identity identity;  // rank, size, local_*, source ("unisono run", "torchrun", ...)
  std::string address;                  // host:port where rank 0 listens; "" = by the job file
  int listen_fd = -1;                   // rank 0: socket the launcher bound already, or -1
  std::string bind_host = "127.0.0.1";  // what this rank listens on for its peers
  std::string job;                      // names the job file under foreign launchers
  std::vector<std::byte> key;           // 32 bytes once known; empty = by the job file
};

using Lookup = std::function<std::optional<std::string>(const std::string&)>;

// The first that fits of: unisono run, HOROVOD_*, torchrun, Open MPI, PMI/PMIx, Slurm, alone.
// Two that contradict each other are an error naming both.
Result<LaunchIdentity> launch_identity_from_environment(const Lookup& lookup);

// Rank 0 keeps its door open during the job; whoever knocks is a stranger, counted and sent away.
// Bounded: at most 16 pending, 64 bytes and 2 s each.
class StrayConnectionGuard {
 public:
  virtual ~StrayConnectionGuard() = default;
  // Called when the poller reports the guard's key, and at deadline().
  virtual void serve(Time now) = 0;
  virtual Time deadline() const = 0;
  virtual std::uint64_t strangers() const = 0;
};

struct JoinedJob {
  Identity identity;
  std::vector<PeerInfo> peers;          // by rank
  std::unique_ptr<transport::Transport> transport;
  std::shared_ptr<arena::Neighbourhood> neighbourhood;  // null: no memory is shared
  std::unique_ptr<StrayConnectionGuard> stray_guard;  // rank 0 of several only
};

// Keys under which descriptors are watched by the engine's poller. Peers use kPeerKey + rank.
inline constexpr std::uint64_t kBellKey = 0;
inline constexpr std::uint64_t kDoorKey = 1;
inline constexpr std::uint64_t kPeerKey = 16;

// bell and poller outlive the result. Errors: refused (key, version or options differ: both values
// named), timed_out (who never came), unavailable.
Result<JoinedJob> join_job(const Options& options, const LaunchIdentity& launched,
                           const Clock& clock, Poller& poller, Doorbell& bell);

}  // namespace unisono::rendezvous
