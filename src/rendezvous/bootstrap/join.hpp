// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Joins a job: finds out from the environment who this process is, meets the other ranks, proves
// that it belongs to the job, and returns a connected Transport. Blocks, with a deadline; runs
// before the engine thread.
//
// How strangers are kept out: docs/WIRE_FORMAT.md, "Hello". Uses only the loopback unless hosts are
// named.
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
#include "cost/layout.hpp"
#include "model/peer.hpp"
#include "transport/mesh/overlay.hpp"
#include "transport/transport.hpp"
#include "unisono/options.hpp"
#include "unisono/unisono.hpp"

namespace unisono::rendezvous {

// What the launcher says about this process, before it has met any peer.
struct LaunchIdentity {
  Identity identity;  // rank, size, local_*, source ("unisono run", "torchrun", ...)
  std::string address;                  // host:port where rank 0 listens; "" = from the job file
  int listen_fd = -1;                   // rank 0: a socket that the launcher has bound, or -1
  std::string bind_host = "127.0.0.1";  // what this rank listens on for its peers
  std::string job;                      // names the job file under foreign launchers
  std::vector<std::byte> key;           // 32 bytes once known; empty = from the job file
};

using Lookup = std::function<std::optional<std::string>(const std::string&)>;

// Returns the identity from the first launcher that fits: unisono run, HOROVOD_*, torchrun, Open
// MPI, PMI/PMIx, Slurm, alone. When two launchers contradict each other, returns an error that
// names both.
Result<LaunchIdentity> launch_identity_from_environment(const Lookup& lookup);

// A rank's listening socket during the job (connect/live_connector.hpp).
class JobDoor {
 public:
  virtual ~JobDoor() = default;
  // Called when the poller reports kDoorKey, and at deadline().
  virtual void serve(Time now) = 0;
  virtual Time deadline() const = 0;
  virtual std::uint64_t strangers() const = 0;
};

struct JoinedJob {
  Identity identity;
  std::vector<PeerInfo> peers;          // by rank
  std::unique_ptr<transport::Transport> transport;
  std::shared_ptr<arena::Neighbourhood> neighbourhood;  // null: no memory is shared
  std::optional<transport::Overlay> overlay;  // where not everybody is connected with everybody
  cost::Network network;                // what joins the ranks; the same on all of them
  std::shared_ptr<JobDoor> door;        // null where all ranks share memory, but for rank 0
};

// Keys under which the engine's poller watches descriptors. Peers use kPeerKey + rank.
inline constexpr std::uint64_t kBellKey = 0;
inline constexpr std::uint64_t kDoorKey = 1;
inline constexpr std::uint64_t kPeerKey = 16;

// bell and poller must outlive the result. Errors: refused (key, version or options differ; names
// both values), timed_out (names the ranks that never came), unavailable.
Result<JoinedJob> join_job(const Options& options, const LaunchIdentity& launched,
                           const Clock& clock, Poller& poller, Doorbell& bell);

}  // namespace unisono::rendezvous
