// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/measure.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"
#include "kernels/sparse/sparse.hpp"
#include "transport/registry.hpp"

namespace unisono::rendezvous {
namespace {

// How often each size goes to and fro; the least time counts.
constexpr std::array<int, cost::kPointBytes.size()> kRepeats{12, 8, 4, 2, 1};
// No process set has this number while ranks join.
constexpr transport::Tag kMeasureTag = transport::Tag{0xFFFF} << 48;

// Keeps what the transport reports meanwhile: a peer that is lost is reported only once.
class LossListener final : public transport::TransportListener {
 public:
  void on_message(Rank, std::span<const std::byte>) override {}
  void on_lost(Rank, const Status& why) override {
    if (lost.ok()) lost = why;
  }
  void on_left(Rank peer) override {
    if (lost.ok()) lost = Status(Code::peer_left, cat("rank ", peer, " left while ranks joined"));
  }
  Status lost;
};

// Messages to and fro with one peer. A message leaves only when the receive for its answer stands,
// so whoever runs out of time abandons what it waits for and nothing stays behind.
class PingPong {
 public:
  PingPong(transport::Transport& transport, Rank peer, const Clock& clock)
      : transport_(transport), peer_(peer), begins_(transport.rank() < peer), clock_(clock),
        until_(clock.now() + kMeasureFor), out_(cost::kPointBytes.back()),
        in_(cost::kPointBytes.back()) {}
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;
  // An exception leaves no thread at work on its memory.
  ~PingPong() { take_back(); }

  Status run(cost::Points& seconds) {
    if (!begins_) expect(cost::kPointBytes.front());
    for (std::size_t point = 0; point < seconds.size(); ++point) {
      for (int i = 0; i < kRepeats[point]; ++i) {
        const Time start = clock_.now();
        if (!exchange(point, i)) return give_up();
        // Whoever answers is done when the kernel has taken the answer, long before it arrives.
        if (!begins_) continue;
        const double each = nanos_to_seconds(clock_.now() - start) / 2;
        seconds[point] = seconds[point] == 0 ? each : std::min(seconds[point], each);
      }
    }
    return listener_.lost;
  }

 private:
  bool exchange(std::size_t point, int repeat) {
    const std::size_t bytes = cost::kPointBytes[point];
    if (begins_) {
      expect(bytes);
      send(bytes);
      return wait(received_) && wait(sent_);
    }
    if (!wait(received_)) return false;
    const bool last_of_point = repeat + 1 == kRepeats[point];
    const bool last = last_of_point && point + 1 == cost::kPointBytes.size();
    if (!last) expect(cost::kPointBytes[point + (last_of_point ? 1 : 0)]);
    send(bytes);
    return wait(sent_);
  }

  void expect(std::size_t bytes) {
    received_.state = transport::Transfer::State::idle;
    transport_.receive(peer_, kMeasureTag | receives_++, std::span(in_).first(bytes), received_);
  }
  void send(std::size_t bytes) {
    sent_.state = transport::Transfer::State::idle;
    transport_.send(peer_, kMeasureTag | sends_++, std::span(out_).first(bytes), sent_);
  }
  bool wait(const transport::Transfer& transfer) {
    while (!transfer.done()) {
      if (!transport_.progress(listener_)) std::this_thread::yield();
      if (!listener_.lost.ok() || transfer.state == transport::Transfer::State::failed ||
          clock_.now() >= until_) {
        return transfer.done();
      }
    }
    return true;
  }
  Status give_up() {
    take_back();
    return listener_.lost;
  }
  void take_back() {
    for (transport::Transfer* transfer : {&received_, &sent_}) {
      if (transfer->state == transport::Transfer::State::active) {
        transport_.abandon(peer_, *transfer);
      }
    }
  }

  transport::Transport& transport_;
  const Rank peer_;
  const bool begins_;
  const Clock& clock_;
  const Time until_;
  std::vector<std::byte> out_, in_;
  transport::Transfer sent_, received_;
  transport::Tag sends_ = 0, receives_ = 0;
  LossListener listener_;
};

double measure_reduction(const Clock& clock) {
  constexpr std::size_t kBytes = 256 << 10;
  constexpr Nanos kReduceFor{1'000'000};
  const std::vector<float> other(kBytes / sizeof(float), 1.0F);
  std::vector<float> sum = other;
  double best = 0;
  const Time until = clock.now() + kReduceFor;
  for (Time start = clock.now(); start < until; start = clock.now()) {
    kernels::reduce(DType::f32, ReduceOp::sum, sum.data(), other.data(), sum.size());
    const double taken = nanos_to_seconds(clock.now() - start);
    if (taken > 0) best = best == 0 ? taken : std::min(best, taken);
  }
  return best / static_cast<double>(kBytes);
}

// Two sparse streams with a few indices in common, as those that meet in recursive doubling.
double measure_merging(const Clock& clock) {
  constexpr std::size_t kPairs = 8192;
  constexpr Nanos kMergeFor{1'000'000};
  std::array<std::vector<std::uint32_t>, 2> indices;
  std::uint32_t drawn = 1, at[2] = {0, 0};
  for (std::size_t i = 0; i < kPairs; ++i) {
    for (std::size_t side = 0; side < 2; ++side) {
      drawn = drawn * 1664525u + 1013904223u;
      at[side] += 1 + (drawn >> 24);
      indices[side].push_back(at[side]);
    }
  }
  const std::vector<float> values(kPairs, 1.0F);
  std::vector<std::uint32_t> out_indices(2 * kPairs);
  std::vector<float> out_values(2 * kPairs);
  const auto side = [&](std::size_t which) {
    return kernels::Pairs{.count = kPairs, .narrow = indices[which].data(), .values = values.data()};
  };
  const kernels::PairsOut out{.capacity = 2 * kPairs, .narrow = out_indices.data(),
                              .values = out_values.data()};
  double best = 0;
  const Time until = clock.now() + kMergeFor;
  for (Time start = clock.now(); start < until; start = clock.now()) {
    static_cast<void>(kernels::merge({}, side(0), side(1), out));
    const double taken = nanos_to_seconds(clock.now() - start);
    if (taken > 0) best = best == 0 ? taken : std::min(best, taken);
  }
  return best / (2 * kPairs);
}

}  // namespace

cost::Network describe_network(const std::vector<PeerRecord>& peer_records,
                               const std::vector<std::vector<bool>>& shares,
                               const Options& options) {
  cost::Network network;
  const bool by_memory = transport::may_use(options.transport, "shm");
  network.within = by_memory ? cost::LinkClass::memory : cost::LinkClass::loopback;
  std::vector<std::size_t> firsts;          // the first rank of each host
  for (std::size_t rank = 0; rank < peer_records.size(); ++rank) {
    const auto same_host = [&](std::size_t other) {
      const std::string& place = peer_records[rank].place;
      return shares[rank][other] || (!place.empty() && place == peer_records[other].place);
    };
    const auto host = std::find_if(firsts.begin(), firsts.end(), same_host);
    network.host_of.push_back(static_cast<int>(host - firsts.begin()));
    if (host == firsts.end()) {
      firsts.push_back(rank);
    } else if (!shares[rank][*host]) {
      network.within = cost::LinkClass::loopback;
    }
  }
  return network;
}

Rank measuring_partner(const cost::Network& network, cost::LinkClass link, Rank self) {
  const std::vector<int>& hosts = network.host_of;
  const auto first_of = [&](int host) {
    return static_cast<Rank>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin());
  };
  const auto size = static_cast<Rank>(hosts.size());
  const int mine = hosts[static_cast<std::size_t>(self)];
  const Rank first = first_of(mine);
  if (link == cost::LinkClass::wire) {
    const Rank other = first_of(mine ^ 1);
    return self == first && other < size ? other : -1;
  }
  if (link != network.within) return -1;
  const Rank second = static_cast<Rank>(
      std::find(hosts.begin() + first + 1, hosts.end(), mine) - hosts.begin());
  if (second >= size) return -1;
  return self == first ? second : self == second ? first : -1;
}

Result<cost::Network> measure_network(const Joined& joined, const Options& options,
                                      const Clock& clock) {
  cost::Network network = describe_network(joined.peer_records, joined.shares, options);
  const bool one_host = std::all_of(network.host_of.begin(), network.host_of.end(),
                                    [](int host) { return host == 0; });
  const bool all_memory = one_host && network.within == cost::LinkClass::memory;
  if (all_memory || options.deterministic || options.algorithm != "auto") return network;

  cost::Measurement mine;
  mine.reduce_per_byte = measure_reduction(clock);
  mine.merge_per_pair = measure_merging(clock);
  for (std::size_t i = 0; i < cost::kLinkClasses; ++i) {
    const Rank peer = measuring_partner(network, static_cast<cost::LinkClass>(i),
                                        joined.transport.rank());
    if (peer < 0) continue;
    const Status lost = PingPong(joined.transport, peer, clock).run(mine.seconds[i]);
    if (!lost.ok()) return joined.root_exchange.fail(lost);
  }
  auto words =
      joined.root_exchange.exchange(cost::encode_measurement(mine), "measuring the links");
  if (!words) return words.status();
  std::vector<cost::Measurement> all;
  for (std::size_t rank = 0; rank < words->size(); ++rank) {
    const auto each = cost::decode_measurement((*words)[rank]);
    if (!each) {
      return joined.root_exchange.fail(
          Status(Code::corrupted, cat("rank ", rank, " sent figures that make no sense")));
    }
    all.push_back(*each);
  }
  network.costs = cost::agreed_costs(all);
  for (std::size_t i = 0; i < cost::kLinkClasses; ++i) {
    network.measured[i] = std::any_of(all.begin(), all.end(), [&](const cost::Measurement& each) {
      return each.seconds[i].front() > 0;
    });
  }
  network.usable = true;
  return network;
}

}  // namespace unisono::rendezvous
