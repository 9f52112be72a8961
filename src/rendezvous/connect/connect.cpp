// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/connect.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <thread>

#include "base/data/bytes.hpp"
#include "base/data/text.hpp"
#include "base/log.hpp"
#include "rendezvous/bootstrap/join.hpp"
#include "rendezvous/bootstrap/stripes.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "rendezvous/connect/dialer.hpp"
#include "rendezvous/connect/live_connector.hpp"
#include "rendezvous/connect/sockets.hpp"
#include "transport/registry.hpp"

namespace unisono::rendezvous {
namespace {

using Pairs = std::vector<std::vector<bool>>;

struct Line {
  Fd socket;
  Session session;
};
using Lines = std::vector<std::optional<Line>>;  // by rank

Purpose lane_purpose(std::size_t lane) {
  return purpose_of({static_cast<std::uint8_t>(lane)});
}

class Connector {
 public:
  Connector(const ConnectContext& context, const std::vector<PeerRecord>& peer_records, Rank self,
            const Options& options)
      : context_(context),
        options_(options),
        peer_records_(peer_records),
        self_(self),
        count_(peer_records.size()),
        lanes_(count_),
        shares_(count_, std::vector<bool>(count_)),
        reached_(count_),
        answered_(count_) {}

  Result<Connected> run();

 private:
  Rank size() const { return static_cast<Rank>(count_); }
  bool may_share(Rank a, Rank b) const;
  Status reach_by_unix(Lines& lines);
  void map_memory(Lines& lines);
  Status add_neighbour(Rank peer, transport::PeerLanes& lanes);
  Status agree_on_memory();
  Status connect_by_tcp();
  Status never_connected(Rank peer, const std::string& last) const;
  void call_by_unix(Rank peer);
  // Moves finished calls and arrivals over unix sockets into lines.
  void collect_unix(Lines& lines);
  // Takes note of who has answered, and of arrivals, for one purpose. Returns a refusal, if any.
  Status collect_tcp(Dialer& dialer, Purpose purpose, Lines& lines);
  void take_arrivals(Purpose purpose, Lines& lines);
  Status hear(const std::vector<bool>& mine, const std::string& doing, Pairs& all);
  void assume_sharing_by_place();
  transport::LaneSecret secret_of(const Line& line);
  void use_congestion(const Fd& socket);

  const ConnectContext& context_;
  const Options& options_;
  const std::vector<PeerRecord>& peer_records_;
  Rank self_;
  std::size_t count_;
  std::vector<transport::PeerLanes> lanes_;
  Pairs shares_;
  std::vector<HostPort> reached_;
  std::vector<bool> answered_;
  std::string why_not_shared_, seals_;
  std::size_t stripes_ = 1;
  bool told_congestion_ = false;
};

void Connector::use_congestion(const Fd& socket) {
  if (set_congestion(socket, options_.congestion) || std::exchange(told_congestion_, true)) return;
  log_line(options_.congestion != Options().congestion ? LogLevel::warn : LogLevel::info,
           cat("rank ", self_, ": this system does not offer congestion=", options_.congestion,
               " (net.ipv4.tcp_allowed_congestion_control); connections keep what it has"));
}

transport::LaneSecret Connector::secret_of(const Line& line) {
  const auto secret = lane_secret(line.session, options_.integrity, options_.encrypt);
  seals_ = transport::seal_name(secret.kind);
  return secret;
}

bool Connector::may_share(Rank a, Rank b) const {
  const auto endpoint = [&](Rank rank) -> transport::Endpoint {
    const PeerRecord& record = peer_records_[static_cast<std::size_t>(rank)];
    return {record.place, record.unix_name, record.addresses};
  };
  return transport::find_transport("shm").viable(endpoint(a), endpoint(b));
}

// A failed connection to a unix socket is not an error: that pair uses TCP.
void Connector::call_by_unix(Rank peer) {
  auto socket = start_unix(peer_records_[static_cast<std::size_t>(peer)].unix_name);
  if (!socket) return;
  context_.bootstrap.call({kProtocolVersion, Purpose::shm, self_, size(), peer},
                          std::move(*socket));
}

void Connector::collect_unix(Lines& lines) {
  std::vector<Rank> again;
  for (Called& call : context_.bootstrap.called) {
    if (call.hello.purpose != Purpose::shm) continue;
    if (call.status.ok()) {
      lines[static_cast<std::size_t>(call.hello.to)] = Line{std::move(call.socket), call.session};
    } else if (call.status.code() == Code::unavailable) {
      // On an overloaded machine the peer may give up before this rank is scheduled, so try again.
      // Rank 0 notices a peer that is gone for good.
      again.push_back(call.hello.to);
    }
  }
  std::erase_if(context_.bootstrap.called,
                [](const Called& c) { return c.hello.purpose == Purpose::shm; });
  take_arrivals(Purpose::shm, lines);
  // Without the pause, a peer that refuses at once would make this a busy loop.
  if (!again.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  for (const Rank peer : again) call_by_unix(peer);
}

// A rank that called twice uses the later connection, and so does the one it called.
void Connector::take_arrivals(Purpose purpose, Lines& lines) {
  for (Arrival& arrival : context_.bootstrap.arrivals) {
    if (arrival.hello.purpose != purpose) continue;
    // Only higher ranks call lower ones; any other connection is closed.
    if (arrival.hello.rank <= self_ || arrival.hello.rank >= size()) continue;
    lines[static_cast<std::size_t>(arrival.hello.rank)] =
        Line{std::move(arrival.socket), arrival.session};
  }
  std::erase_if(context_.bootstrap.arrivals,
                [&](const Arrival& a) { return a.hello.purpose == purpose; });
}

Status Connector::collect_tcp(Dialer& dialer, Purpose purpose, Lines& lines) {
  if (const Status refused = dialer.advance(); !refused.ok()) {
    const auto peer = static_cast<std::size_t>(refused.culprit().rank);
    return Status(refused.code(), cat("rank ", self_, " cannot reach ",
                                      peer_records_[peer].peer().to_string(), " at ",
                                      peer_records_[peer].addresses, ": ", refused.message()));
  }
  for (Dialer::Answer& answer : dialer.answers) {
    lines[static_cast<std::size_t>(answer.peer)] =
        Line{std::move(answer.call.socket), answer.call.session};
    reached_[static_cast<std::size_t>(answer.peer)] = answer.at;
    answered_[static_cast<std::size_t>(answer.peer)] = true;
  }
  take_arrivals(purpose, lines);
  return {};
}

Status Connector::hear(const std::vector<bool>& mine, const std::string& doing, Pairs& all) {
  // A list of ranks is short where it matters: with many hosts, few ranks share one.
  std::vector<std::uint32_t> ranks;
  for (std::size_t p = 0; p < count_; ++p) {
    if (mine[p]) ranks.push_back(static_cast<std::uint32_t>(p));
  }
  ByteWriter out;
  out.put_list(ranks);
  auto words = context_.root_exchange.exchange(out.bytes(), doing);
  if (!words) return words.status();
  all.assign(count_, std::vector<bool>(count_));
  for (std::size_t r = 0; r < count_; ++r) {
    ByteReader in((*words)[r]);
    ranks = in.get_list<std::uint32_t>();
    const bool exist = std::ranges::all_of(ranks, [&](std::uint32_t p) { return p < count_; });
    if (!in.finished() || !exist) {
      return context_.root_exchange.fail(
          Status(Code::corrupted, cat("rank ", r, " sent a bad report")));
    }
    for (const std::uint32_t p : ranks) all[r][p] = true;
  }
  return {};
}

Status Connector::reach_by_unix(Lines& lines) {
  for (Rank peer = 0; peer < self_; ++peer) {
    if (may_share(self_, peer)) call_by_unix(peer);
  }
  while (context_.bootstrap.calls_pending() > 0 && context_.bootstrap.now() < context_.deadline) {
    context_.bootstrap.turn(context_.deadline, context_.root_exchange.all());
    if (Status news = context_.root_exchange.news(); !news.ok()) return news;
    collect_unix(lines);
  }
  std::vector<bool> reached(count_);
  for (std::size_t r = 0; r < count_; ++r) reached[r] = static_cast<Rank>(r) < self_ && lines[r];
  Pairs all;
  if (Status status = hear(reached, "finding peers on this host", all); !status.ok()) return status;
  // Callers that reported success were confirmed by this rank, so their lines are among the
  // arrivals.
  collect_unix(lines);
  for (std::size_t high = 0; high < count_; ++high) {
    for (std::size_t low = 0; low < high; ++low) {
      shares_[high][low] = shares_[low][high] = all[high][low];
    }
  }
  return {};
}

void Connector::map_memory(Lines& lines) {
  // In round s the ranks a and s - a meet, so every rank has at most one partner in each round.
  for (Rank round = 0; round < size(); ++round) {
    const Rank peer = ((round - self_) % size() + size()) % size();
    const auto p = static_cast<std::size_t>(peer);
    if (peer == self_ || !shares_[static_cast<std::size_t>(self_)][p]) continue;
    Status status(Code::unavailable, "the connection is missing");
    if (lines[p]) {
      const Nanos left = std::max(context_.deadline - context_.bootstrap.now(), Nanos(0));
      auto lanes = transport::make_shm_lanes(
          std::move(lines[p]->socket), self_ < peer, context_.bell, context_.poller,
          kPeerKey + static_cast<std::uint64_t>(peer), lines[p]->session.check_seed, left,
          context_.neighbourhood->own().fd());
      status = lanes ? add_neighbour(peer, *lanes) : lanes.status();
      if (status.ok()) lanes_[p] = std::move(*lanes);
    }
    if (!status.ok()) {
      shares_[static_cast<std::size_t>(self_)][p] = false;
      why_not_shared_ = status.message();
    }
  }
}

Status Connector::add_neighbour(Rank peer, transport::PeerLanes& lanes) {
  auto segment = arena::Segment::map(std::move(lanes.arena));
  if (!segment) return segment.status();
  context_.neighbourhood->add(peer, std::make_shared<arena::Segment>(std::move(segment).value()),
                             lanes.bell, lanes.bell_keeper);
  return {};
}

Status Connector::agree_on_memory() {
  Pairs all;
  // All learn who has memory that could be shared, even one that is alone on its host.
  const auto self = static_cast<std::size_t>(self_);
  shares_[self][self] = context_.neighbourhood != nullptr;
  const Status status =
      hear(shares_[static_cast<std::size_t>(self_)], "mapping shared memory", all);
  if (!status.ok()) return status;
  for (std::size_t a = 0; a < count_; ++a) {
    for (std::size_t b = 0; b < count_; ++b) shares_[a][b] = all[a][b] && all[b][a];
  }
  for (std::size_t p = 0; p < count_; ++p) {
    if (!shares_[static_cast<std::size_t>(self_)][p]) lanes_[p] = transport::PeerLanes{};
  }
  if (context_.neighbourhood != nullptr) context_.neighbourhood->settle(shares_);
  return {};
}

Status Connector::connect_by_tcp() {
  const auto& shared = shares_[static_cast<std::size_t>(self_)];
  const auto connects_now = [&](Rank peer) {
    return peer != self_ && !shared[static_cast<std::size_t>(peer)] &&
           (!context_.overlay || context_.overlay->adjacent(self_, peer));
  };
  std::vector<Lines> lines(1 + stripes_);   // by lane
  for (Lines& lane : lines) lane.resize(count_);
  std::deque<Dialer> calls;
  for (std::size_t lane = 0; lane < lines.size(); ++lane) {
    calls.emplace_back(context_.bootstrap,
                       Hello{kProtocolVersion, lane_purpose(lane), self_, size(), 0});
  }
  Status trouble;
  for (Rank peer = 0; peer < self_ && trouble.ok(); ++peer) {
    if (!connects_now(peer)) continue;
    auto addresses = addresses_to_call(peer_records_[static_cast<std::size_t>(peer)],
                                       peer_records_[static_cast<std::size_t>(self_)],
                                       context_.here);
    trouble = addresses.status();
    if (trouble.ok()) calls.front().seek(peer, std::move(addresses).value());
  }
  const auto missing = [&]() -> std::optional<Rank> {
    for (Rank peer = 0; peer < size(); ++peer) {
      const auto lacks = [&](const Lines& lane) { return !lane[static_cast<std::size_t>(peer)]; };
      if (connects_now(peer) && std::ranges::any_of(lines, lacks)) return peer;
    }
    return std::nullopt;
  };
  while (trouble.ok() && missing()) {
    if (context_.bootstrap.now() >= context_.deadline) {
      std::string last;
      for (const Dialer& each : calls) last = last.empty() ? each.trouble() : last;
      trouble = never_connected(*missing(), last);
      break;
    }
    Time due = context_.deadline;
    for (const Dialer& each : calls) due = std::min(due, each.due());
    context_.bootstrap.turn(due, context_.root_exchange.all());
    if (Status news = context_.root_exchange.news(); !news.ok()) return news;
    for (std::size_t lane = 0; lane < calls.size() && trouble.ok(); ++lane) {
      trouble = collect_tcp(calls[lane], lane_purpose(lane), lines[lane]);
      // Where the first connection came about, the others will.
      for (const Dialer::Answer& answer : calls[lane].answers) {
        for (std::size_t data = 1; lane == 0 && data < calls.size(); ++data) {
          calls[data].seek(answer.peer, {answer.at});
        }
      }
      calls[lane].answers.clear();
    }
  }
  if (!trouble.ok()) return context_.root_exchange.fail(trouble);
  Pairs ignored;
  if (Status status = hear(shared, "connecting by TCP", ignored); !status.ok()) return status;
  // Somebody who gave up on a slow connection has called once more, and counts on that one.
  for (std::size_t lane = 0; lane < lines.size(); ++lane) {
    take_arrivals(lane_purpose(lane), lines[lane]);
  }
  for (std::size_t p = 0; p < count_; ++p) {
    // Nobody waits for all lanes of a peer with which this rank does not connect now.
    if (!connects_now(static_cast<Rank>(p)) || !lines.front()[p]) continue;
    if (reached_[p].port == 0) reached_[p] = reached_at(peer_records_[p], lines.front()[p]->socket);
    std::vector<transport::TcpLane> lanes;
    for (Lines& lane : lines) {
      use_congestion(lane[p]->socket);
      lanes.push_back({std::move(lane[p]->socket), secret_of(*lane[p])});
    }
    lanes_[p] = transport::make_tcp_lanes(std::move(lanes), context_.poller, kPeerKey + p);
  }
  return {};
}

Status Connector::never_connected(Rank peer, const std::string& last) const {
  const PeerRecord& record = peer_records_[static_cast<std::size_t>(peer)];
  return Status(Code::timed_out,
                cat("rank ", self_, " and ", record.peer().to_string(),
                    " could not connect by TCP before the deadline; it listens at ",
                    record.addresses, last.empty() ? "" : cat("; ", last),
                    "; see whether a firewall is between, or name the interface with "
                    "UNISONO_BIND_HOST"));
}

void Connector::assume_sharing_by_place() {
  std::map<std::string_view, std::vector<std::size_t>> places;
  for (std::size_t a = 0; a < count_; ++a) {
    if (!peer_records_[a].place.empty()) places[peer_records_[a].place].push_back(a);
  }
  for (const auto& [place, ranks] : places) {
    for (const std::size_t a : ranks) {
      for (const std::size_t b : ranks) shares_[a][b] = a != b;
    }
  }
}

Result<Connected> Connector::run() {
  const bool try_memory = transport::may_use(options_.transport, "shm");
  if (try_memory) {
    Lines lines(count_);
    if (Status status = reach_by_unix(lines); !status.ok()) return status;
    map_memory(lines);
    if (Status status = agree_on_memory(); !status.ok()) return status;
  }
  bool any_shm = false, any_tcp = false;
  for (std::size_t a = 0; a < count_; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      (shares_[a][b] ? any_shm : any_tcp) = true;
      // Every rank has the same table, so all of them return the same error.
      if (!shares_[a][b] && !transport::may_use(options_.transport, "tcp")) {
        return Status(Code::unavailable,
                      cat("transport shm: ", peer_records_[b].peer().to_string(), " and ",
                          peer_records_[a].peer().to_string(), " cannot share memory",
                          why_not_shared_.empty() ? "" : cat(" (", why_not_shared_, ")"),
                          "; use transport auto or tcp"));
      }
    }
  }
  if (any_tcp) {
    const auto agreed = agree_on_stripes(context_.root_exchange, options_, context_.stripes);
    if (!agreed) return agreed.status();
    stripes_ = agreed.value();
    if (Status status = connect_by_tcp(); !status.ok()) return status;
  }
  if (!try_memory) assume_sharing_by_place();
  return Connected{std::move(lanes_), std::move(shares_),
                   any_shm ? (any_tcp ? "shm+tcp" : "shm") : "tcp", seals_, std::move(reached_),
                   std::move(answered_), stripes_};
}

}  // namespace

Result<Connected> connect_peers(const ConnectContext& context,
                                const std::vector<PeerRecord>& peer_records, Rank self,
                                const Options& options) {
  return Connector(context, peer_records, self, options).run();
}

}  // namespace unisono::rendezvous
