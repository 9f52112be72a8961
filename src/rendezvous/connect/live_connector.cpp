// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/live_connector.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "base/log.hpp"
#include "base/os/child_closes.hpp"
#include "rendezvous/bootstrap/bootstrap_loop.hpp"
#include "rendezvous/connect/dialer.hpp"
#include "transport/tcp/tcp_stream.hpp"

namespace unisono::rendezvous {
namespace {

using transport::LaneId;

// After a break of the network peers call with all their lanes at once; where these are few, the
// places for strangers are enough for them.
int callers_at_once(const LiveSettings& settings) {
  constexpr std::size_t kPeersMax = 32;
  return settings.stripes == 1
             ? 0
             : static_cast<int>(std::min(settings.peer_records.size(), kPeersMax));
}

class TcpConnector final : public LiveConnector {
 public:
  TcpConnector(Fd listener, LiveSettings settings, Poller& poller, const Clock& clock)
      : settings_(std::move(settings)),
        poller_(poller),
        listener_(std::move(listener)),
        loop_(settings_.key, settings_.self, callers_at_once(settings_), clock,
              settings_.incarnation),
        strangers_(settings_.strangers) {
    for (std::size_t lane = 0; lane <= settings_.stripes; ++lane) {
      dialers_.emplace_back(loop_, hello({static_cast<std::uint8_t>(lane)}), Dialer::Peers::listen);
    }
    loop_.before_close = [this](int fd) { forget(fd); };
    loop_.serve(listener_);
    settings_.reached.resize(settings_.peer_records.size());
    settings_.answered.resize(settings_.peer_records.size());
    watch_all();
  }
  ~TcpConnector() override {
    while (!watched_.empty()) forget(watched_.begin()->first);
  }

  void seek(Rank peer, LaneId lane, std::uint32_t number) override {
    Dialer& dialer = dialers_[lane.number];
    dialer.stop(peer);
    auto addresses = to_call(peer);
    if (!addresses) {
      unreachable_.push_back({peer, addresses.status()});
      return;
    }
    // Several addresses are all that it has: where nobody listens at any of them, it has ended.
    const auto p = static_cast<std::size_t>(peer);
    const bool sure = settings_.answered[p] || settings_.reached[p].port == 0;
    dialer.seek(peer, std::move(addresses).value(), number, sure);
    watch_all();
  }
  void stop(Rank peer, LaneId lane) override { dialers_[lane.number].stop(peer); }
  std::vector<transport::Connection> take_connections() override {
    return std::exchange(connections_, {});
  }
  std::vector<transport::Unreachable> take_unreachable() override {
    return std::exchange(unreachable_, {});
  }
  bool has_news() const override { return !connections_.empty() || !unreachable_.empty(); }

  void serve(Time) override {
    loop_.turn(loop_.now());
    for (std::size_t i = 0; i < dialers_.size(); ++i) {
      const LaneId lane{static_cast<std::uint8_t>(i)};
      Dialer& dialer = dialers_[i];
      for (Status refused = dialer.advance(); !refused.ok(); refused = dialer.advance()) {
        unreachable_.push_back({refused.culprit().rank, refused});
      }
      for (Dialer::Answer& answer : dialer.answers) {
        settings_.reached[static_cast<std::size_t>(answer.peer)] = answer.at;
        settings_.answered[static_cast<std::size_t>(answer.peer)] = true;
        add(answer.peer, lane, answer.call.hello.turn, true, std::move(answer.call.socket),
            answer.call.session);
      }
      dialer.answers.clear();
    }
    for (Arrival& arrival : loop_.arrivals) admit(arrival);
    loop_.arrivals.clear();
    watch_all();
  }
  Time deadline() const override {
    Time due = loop_.acceptor().deadline();
    for (const Dialer& dialer : dialers_) due = std::min(due, dialer.due());
    return due;
  }
  std::uint64_t strangers() const override { return strangers_ + loop_.acceptor().strangers(); }

 private:
  Hello hello(LaneId lane) const {
    Hello hello{kProtocolVersion, purpose_of(lane), settings_.self,
                static_cast<int>(settings_.peer_records.size()), 0};
    hello.incarnation = settings_.incarnation;
    return hello;
  }
  const PeerRecord& record(Rank rank) const {
    return settings_.peer_records[static_cast<std::size_t>(rank)];
  }

  // Where the peer was reached before it either listens still, or it has ended.
  Result<std::vector<HostPort>> to_call(Rank peer) const {
    const HostPort& before = settings_.reached[static_cast<std::size_t>(peer)];
    if (before.port != 0) return std::vector{before};
    return addresses_to_call(record(peer), record(settings_.self), settings_.here);
  }

  // The handshake has proved that the caller holds the key and is of this incarnation of the job.
  void admit(Arrival& arrival) {
    const Rank peer = arrival.hello.rank;
    const std::optional<LaneId> lane = lane_of(arrival.hello.purpose);
    const auto ranks = static_cast<Rank>(settings_.peer_records.size());
    if (!lane || peer < 0 || peer >= ranks || peer == settings_.self) {
      ++strangers_;
      return;
    }
    if (lane->number > settings_.stripes) {
      ++strangers_;
      log_line(LogLevel::warn, cat("rank ", settings_.self, " refuses lane ", int{lane->number},
                                   " of ", record(peer).peer().to_string(),
                                   ": this job has connections=", settings_.stripes));
      return;
    }
    HostPort& reached = settings_.reached[static_cast<std::size_t>(peer)];
    if (reached.port == 0) reached = reached_at(record(peer), arrival.socket);
    add(peer, *lane, arrival.hello.turn, false, std::move(arrival.socket), arrival.session);
  }

  void add(Rank peer, LaneId lane, std::uint32_t number, bool by_me, Fd socket,
           const Session& session) {
    const transport::LaneSecret secret =
        lane_secret(session, settings_.integrity, settings_.encrypt);
    // What is sent and not acknowledged for so long breaks the connection; few watch it otherwise.
    const auto limit_ms = static_cast<unsigned>(settings_.dead_s * 1e3);
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
    set_congestion(socket, settings_.congestion);
    transport::Connection connection;
    connection.peer = peer;
    connection.lane = lane;
    connection.turn = {number, by_me == (settings_.self > peer)};
    connection.by_me = by_me;
    connection.secret = secret;
    connection.stream = std::make_unique<transport::TcpStream>(
        std::move(socket), poller_, kPeerKey + static_cast<std::uint64_t>(peer), secret.kind);
    connections_.push_back(std::move(connection));
  }

  // The poller must not be asked for descriptors that cannot be served: a listener would keep the
  // engine from sleeping while there are no descriptors for connections.
  void watch_all() {
    std::map<int, short> wanted;
    for (const pollfd& each : loop_.descriptors()) wanted[each.fd] = each.events;
    std::vector<int> over;
    for (const auto& [fd, events] : watched_) {
      const auto it = wanted.find(fd);
      if (it == wanted.end() || it->second != events) over.push_back(fd);
    }
    for (const int fd : over) forget(fd);
    for (const auto& [fd, events] : wanted) {
      if (!watched_.emplace(fd, events).second) continue;
      poller_.watch(fd, kDoorKey, (events & POLLIN) != 0, (events & POLLOUT) != 0);
    }
  }
  void forget(int fd) {
    if (watched_.erase(fd) > 0) poller_.forget(fd);
  }

  LiveSettings settings_;
  Poller& poller_;
  std::map<int, short> watched_;            // descriptor, events
  Fd listener_;
  const ChildCloses closes_{listener_};
  BootstrapLoop loop_;
  std::uint64_t strangers_;
  std::deque<Dialer> dialers_;              // by lane
  std::vector<transport::Connection> connections_;
  std::vector<transport::Unreachable> unreachable_;
};

}  // namespace

std::uint32_t incarnation_of(const std::vector<PeerRecord>& peer_records) {
  std::uint64_t hash = 0;
  for (const PeerRecord& each : peer_records) {
    PeerRecord bare = each;
    bare.options.clear();
    hash = hash_bytes(encode_peer_record(bare), hash);
  }
  return static_cast<std::uint32_t>(hash) | 1;  // 0 stands for a job that is still joining
}

Result<std::vector<HostPort>> addresses_to_call(const PeerRecord& peer, const PeerRecord& self,
                                                const std::vector<InterfaceAddress>& here) {
  auto addresses = parse_addresses(peer.addresses);
  if (!addresses) {
    return Status(Code::corrupted, cat(peer.peer().to_string(), " told where it listens in "
                                       "words that make no sense: ", peer.addresses));
  }
  // On this machine its addresses are also this rank's.
  if (!self.place.empty() && self.place == peer.place) return addresses;
  return order_to_try(std::move(addresses).value(), here, routes);
}

transport::LaneSecret lane_secret(const Session& session, std::string_view integrity,
                                  bool encrypt) {
  transport::LaneSecret secret = session.frames;
  if (integrity == "plain") secret.kind = transport::SealKind::hash;
  if (encrypt) secret.kind = transport::encrypted(secret.kind);
  return secret;
}

HostPort reached_at(const PeerRecord& peer, const Fd& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char text[NI_MAXHOST];
  const auto addresses = parse_addresses(peer.addresses);
  if (!addresses || ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return {};
  }
  std::string_view from = text;
  constexpr std::string_view kMapped = "::ffff:";  // how a socket of both families shows IPv4
  if (from.starts_with(kMapped)) from.remove_prefix(kMapped.size());
  for (const HostPort& each : addresses.value()) {
    if (each.host == from) return each;
  }
  return {};
}

std::shared_ptr<LiveConnector> make_live_connector(Fd listener, LiveSettings settings,
                                                   Poller& poller, const Clock& clock) {
  auto connector =
      std::make_shared<TcpConnector>(std::move(listener), std::move(settings), poller, clock);
  connector->serve(clock.now());
  return connector;
}

}  // namespace unisono::rendezvous
