// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/join.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/data/text.hpp"
#include "base/os/cpu.hpp"
#include "rendezvous/connect/connect.hpp"
#include "rendezvous/connect/measure.hpp"
#include "rendezvous/bootstrap/root_exchange.hpp"
#include "rendezvous/connect/live_connector.hpp"
#include "rendezvous/bootstrap/job_file.hpp"
#include "rendezvous/bootstrap/bootstrap_loop.hpp"
#include "rendezvous/bootstrap/rendezvous.hpp"
#include "rendezvous/bootstrap/stripes.hpp"
#include "rendezvous/connect/probe.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "rendezvous/connect/sockets.hpp"
#include "transport/registry.hpp"

namespace unisono::rendezvous {
namespace {

constexpr Nanos kLookAgain{5'000'000};
constexpr Nanos kProbePatience{2'000'000'000};

// How this rank reaches rank 0, or how it is reached when it is rank 0 itself.
struct Door {
  std::vector<InterfaceAddress> here = interface_addresses();
  Fd listener;                      // accepts connections from peers; on rank 0, from all ranks
  std::vector<HostPort> addresses;  // of that listener, as peers may connect to it
  std::vector<HostPort> zero;       // rank 0's, in the order to try
  JobKey key{};
};

// Listens where others can reach this rank; `bind_host` as addresses_to_publish() takes it.
Status open_listener(const std::string& bind_host, int port, Door& door) {
  auto seen_as = addresses_to_publish(door.here, bind_host);
  if (!seen_as) return seen_as.status();
  const bool everywhere =
      seen_as->size() != 1 || bind_host.empty() || is_any_address(bind_host);
  auto listener = everywhere ? listen_everywhere(port) : listen_tcp(seen_as->front(), port);
  if (!listener) return listener.status();
  const auto bound = port_of(*listener);
  if (!bound) return bound.status();
  door.listener = std::move(*listener);
  for (const std::string& host : *seen_as) door.addresses.push_back({host, bound.value()});
  return {};
}

Status open_as_zero(const LaunchIdentity& launched, JobFile& file, Door& door) {
  if (launched.listen_fd >= 0) {
    // The launcher's descriptor stays open, so that a second join of this process finds it.
    door.listener = Fd(::fcntl(launched.listen_fd, F_DUPFD_CLOEXEC, 0));
    if (!door.listener.valid()) {
      return Status(Code::invalid_argument,
                    cat("cannot use the launcher's listening socket: ", std::strerror(errno)));
    }
    ::fcntl(door.listener.get(), F_SETFL, ::fcntl(door.listener.get(), F_GETFL) | O_NONBLOCK);
    const auto port = port_of(door.listener);
    if (!port) return port.status();
    const auto named = parse_addresses(launched.address);
    door.addresses = named ? named.value() : std::vector<HostPort>{{"127.0.0.1", 0}};
    for (HostPort& each : door.addresses) each.port = port.value();
  } else if (!launched.address.empty()) {
    const auto named = parse_addresses(launched.address);
    if (!named) return named.status();
    const HostPort& at = named.value().front();
    const bool by_name = launched.bind_host.empty() && named.value().size() == 1;
    const std::string& bind_host = by_name ? at.host : launched.bind_host;
    if (Status bad = open_listener(bind_host, at.port, door); !bad.ok()) return bad;
    door.addresses = named.value();
  } else {
    if (Status bad = open_listener(launched.bind_host, 0, door); !bad.ok()) return bad;
    door.key = make_job_key();
    if (Status bad = file.leave({door.key, addresses_text(door.addresses)}); !bad.ok()) return bad;
  }
  door.zero = door.addresses;
  return {};
}

Status find_zero(const LaunchIdentity& launched, const JobFile& file, const Clock& clock,
                 Time deadline, Door& door) {
  std::string address = launched.address;
  while (address.empty()) {
    const auto note = file.look();
    if (!note) return note.status();
    if (note.value().has_value()) {
      door.key = note.value()->key;
      address = note.value()->address;
      break;
    }
    if (clock.now() >= deadline) {
      return Status(Code::timed_out,
                    cat("rank 0 never left its address in ", file.path(),
                        "; see whether it runs, or, over several hosts, give all ranks the same "
                        "UNISONO_JOB_DIR on a shared file system"),
                    {0, "", 0, ""});
    }
    timespec pause{0, static_cast<long>(kLookAgain.count())};
    ::nanosleep(&pause, nullptr);
  }
  auto zero = parse_addresses(address);
  if (!zero) return zero.status();
  door.zero = order_to_try(std::move(zero).value(), door.here, routes);
  return {};
}

PeerRecord record_of(const Options& options, const LaunchIdentity& launched,
                   const Door& door) {
  PeerRecord peer_record;
  peer_record.rank = launched.identity.rank;
  peer_record.size = launched.identity.size;
  peer_record.host =
      launched.identity.host.empty() ? host_name() : launched.identity.host;
  peer_record.pid = ::getpid();
  peer_record.addresses = addresses_text(door.addresses);
  peer_record.place = place_name();
  peer_record.options = options.agreed_text();
  // An identity without a source was made by hand: its local_* are defaults, not from a launcher.
  if (!launched.identity.source.empty()) {
    peer_record.local_rank = launched.identity.local_rank;
    peer_record.local_size = launched.identity.local_size;
  }
  if (transport::may_use(options.transport, "shm")) {
    unsigned char name[16];
    char hex[2 * sizeof name + 1];
    randombytes_buf(name, sizeof name);
    peer_record.unix_name = cat("unisono-", sodium_bin2hex(hex, sizeof hex, name, sizeof name));
  }
  return peer_record;
}

transport::MeshSettings mesh_settings(const Options& options, const std::string& name, Rank rank,
                           std::vector<PeerInfo> peers) {
  transport::MeshSettings settings;
  settings.name = name;
  settings.rank = rank;
  settings.suspect_after = seconds_to_nanos(options.suspect_s);
  settings.dead_after = seconds_to_nanos(options.dead_s);
  settings.peers = std::move(peers);
  return settings;
}

// In a small job it costs little to connect everybody, and every rank then notices every loss itself.
constexpr int kAllConnectedMax = 32;

std::optional<transport::Overlay> overlay_of(const Options& options, int size) {
  const bool all =
      options.connect == "all" || (options.connect == "auto" && size <= kAllConnectedMax);
  if (all) return std::nullopt;
  return transport::Overlay{size, static_cast<int>(options.tree_radix)};
}

transport::MeshSettings::Heal heal_of(const Options& options) {
  if (options.heal == "never") return transport::MeshSettings::Heal::never;
  return options.heal == "always" ? transport::MeshSettings::Heal::always
                                  : transport::MeshSettings::Heal::where_it_can_break;
}

JoinedJob join_alone(const Options& options, const LaunchIdentity& launched) {
  JoinedJob job;
  job.identity = launched.identity;
  job.identity.local_rank = job.identity.cross_rank = 0;
  job.identity.local_size = job.identity.cross_size = 1;
  if (job.identity.host.empty()) job.identity.host = host_name();
  job.peers = {{0, job.identity.host, ::getpid()}};
  job.transport = transport::make_mesh(mesh_settings(options, "alone", 0, job.peers),
                                       std::vector<transport::PeerLanes>(1));
  return job;
}

}  // namespace

Result<JoinedJob> join_job(const Options& options, const LaunchIdentity& launched,
                           const Clock& clock, Poller& poller, Doorbell& bell) {
  if (launched.identity.size == 1) return join_alone(options, launched);
  UNISONO_CHECK(sodium_init() >= 0);
  const Rank self = launched.identity.rank;
  const Time deadline = clock.now() + seconds_to_nanos(options.join_timeout_s);

  Door door;
  if (!launched.key.empty()) {
    UNISONO_CHECK(launched.key.size() == kKeyBytes);
    std::memcpy(door.key.data(), launched.key.data(), kKeyBytes);
  }
  const char* folder = std::getenv("UNISONO_JOB_DIR");
  const Hello as{kProtocolVersion, Purpose::join, self, launched.identity.size, 0};
  JobFile file(launched.job, folder == nullptr ? "" : folder, [&](const JobNote& note) {
    return rank_zero_answers(note, as, std::min(kProbePatience, deadline - clock.now()));
  });
  Status opened = self == 0 ? open_as_zero(launched, file, door)
                            : find_zero(launched, file, clock, deadline, door);
  if (opened.ok() && self != 0) opened = open_listener(launched.bind_host, 0, door);
  if (!opened.ok()) return opened;

  JoinedJob job;
  PeerRecord mine = record_of(options, launched, door);
  if (transport::may_use(options.transport, "shm")) {
    auto hood = arena::Neighbourhood::create(self, launched.identity.size,
                                      static_cast<std::size_t>(options.arena_bytes), bell.ringer());
    if (hood) {
      job.neighbourhood = std::move(hood).value();
    } else {
      log_line(LogLevel::warn, cat("rank ", self, ": ", hood.status().message()));
      mine.unix_name.clear();
    }
  }
  BootstrapLoop bootstrap(door.key, self, launched.identity.size, clock);
  bootstrap.open(std::move(door.listener));
  if (!mine.unix_name.empty()) {
    auto listener = listen_unix(mine.unix_name);
    if (listener) {
      bootstrap.open(std::move(*listener));
    } else {
      mine.unix_name.clear();
    }
  }

  auto met = self == 0 ? rendezvous_as_root(bootstrap, mine, options.join_timeout_s,
                                            [&] { file.take_away(); })
                       : rendezvous_as_member(bootstrap, mine, door.zero, deadline);
  if (!met) return met.status();
  for (const PeerRecord& peer_record : met->peer_records) job.peers.push_back(peer_record.peer());
  RootExchange root_exchange(bootstrap, self, std::move(met->channels), job.peers, deadline);
  job.overlay = overlay_of(options, launched.identity.size);
  auto connected =
      connect_peers({bootstrap, root_exchange, poller, bell, job.neighbourhood.get(), door.here,
                     job.overlay,
                     stripes_for(options, mine, door.here,
                                 {job.overlay.has_value(), launched.identity.size, usable_cores()}),
                     deadline},
                    met->peer_records, self, options);
  if (!connected) return connected.status();
  if (!connected->seals.empty()) {
    log_line(LogLevel::info, cat("rank ", self, ": integrity ", options.integrity,
                                 ": frames over TCP are ",
                                 options.integrity == "plain" ? "checked for damage only, by "
                                                              : "authenticated, by ",
                                 connected->seals));
  }

  job.identity = launched.identity;
  job.identity.host = mine.host;
  settle_locality(met->peer_records, connected->shares, job.identity);
  auto mesh = mesh_settings(options, connected->name, self, job.peers);
  const bool by_tcp = connected->name != "shm";
  if (!by_tcp) job.overlay.reset();         // all are connected
  if (self == 0 || by_tcp) {
    LiveSettings live;
    live.key = door.key;
    live.self = self;
    live.incarnation = incarnation_of(met->peer_records);
    live.here = door.here;
    live.reached = std::move(connected->reached);
    live.answered = std::move(connected->answered);
    live.integrity = options.integrity;
    live.encrypt = options.encrypt;
    live.dead_s = options.dead_s;
    live.congestion = options.congestion;
    live.stripes = connected->stripes;
    live.strangers = bootstrap.acceptor().strangers();
    if (by_tcp) live.peer_records = met->peer_records;
    auto connector =
        make_live_connector(bootstrap.take_first_listener(), std::move(live), poller, clock);
    job.door = connector;
    if (by_tcp) mesh.connector = std::move(connector);
  }
  mesh.heal = heal_of(options);
  mesh.stripes = connected->stripes;
  mesh.io_threads = io_threads_for(options, connected->stripes, job.identity.local_size);
  mesh.io_spin = io_spin_for(options, mesh.io_threads, job.identity.local_size, usable_cores());
  mesh.bell = bell.ringer();
  mesh.poller = &poller;
  mesh.first_key = kPeerKey;
  if (job.overlay) {
    mesh.beats_with.resize(job.peers.size());
    for (const Rank peer : job.overlay->adjacent_to(self)) {
      mesh.beats_with[static_cast<std::size_t>(peer)] = true;
    }
  }
  job.transport = transport::make_mesh(std::move(mesh), std::move(connected->lanes));
  // Trials would connect many ranks of a large job that have no other use for each other.
  if (!job.overlay) {
    auto network = measure_network(
        {*job.transport, root_exchange, met->peer_records, connected->shares}, options, clock);
    if (!network) return network.status();
    job.network = std::move(*network);
  }
  return job;
}

}  // namespace unisono::rendezvous
