// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/wires.hpp"

#include <algorithm>
#include <utility>

#include "sim/network/host.hpp"
#include "sim/virtual_time.hpp"

namespace unisono::sim {

Wires::Wires(const Network& network, const Faults& faults, int ranks, int ranks_per_host,
             std::uint64_t seed, EventQueue& events, std::uint8_t arrival_kind)
    : network_(network), faults_(faults), ranks_per_host_(std::max(ranks_per_host, 1)),
      nics_(std::max(network.nics, 1)),
      two_level_(is_two_level(network, (ranks - 1) / ranks_per_host_ + 1)),
      disturbed_(faults.disturbs_messages()), rng_(seed), events_(events),
      arrival_kind_(arrival_kind) {
  const auto hosts = static_cast<std::size_t>((ranks - 1) / ranks_per_host_ + 1);
  out_.resize(hosts * static_cast<std::size_t>(nics_));
  in_.resize(out_.size());
  if (!two_level_) return;
  up_.resize((hosts - 1) / static_cast<std::size_t>(network.hosts_per_switch) + 1);
  down_.resize(up_.size());
}

std::int64_t Wires::send(std::int64_t now, int from, int to, std::vector<std::byte> bytes) {
  std::int64_t depart = now + to_ns(network_.overhead_us);
  // Within a host the sender copies, which also keeps a short message behind a long one.
  if (host_of(from) == host_of(to)) {
    depart += to_ns(static_cast<double>(bytes.size()) / (network_.local_gb_per_s * 1e3));
  }
  std::int64_t arrival = wire_time(depart, from, to, bytes.size());
  Parcel parcel{from, 0, std::move(bytes)};
  if (disturbed_) {
    parcel.number = sequencer_.number(from, to);
    const std::int64_t plain = arrival;
    arrival = disturbed(plain, from, to);
    if (rng_.uniform() < faults_.duplicate_probability) {
      events_.push(disturbed(plain, from, to), arrival_kind_, static_cast<std::uint32_t>(to),
                   parcels_.put(parcel));
    }
  }
  events_.push(arrival, arrival_kind_, static_cast<std::uint32_t>(to),
               parcels_.put(std::move(parcel)));
  return depart;
}

void Wires::data_begins() {
  ++bucket_;
  data_runs_ = true;
  kept_ns_ = 0;
}

std::int64_t Wires::data_ends() {
  data_runs_ = false;
  return std::exchange(kept_ns_, 0);
}

std::int64_t Wires::pass(Adapter& adapter, std::int64_t at, std::int64_t length) {
  const std::int64_t start = std::max(at, adapter.free_ns);
  adapter.free_ns = start + length;
  if (data_runs_) {
    adapter.kept_ns = (adapter.bucket == bucket_ ? adapter.kept_ns : 0) + length;
    adapter.bucket = bucket_;
    kept_ns_ = std::max(kept_ns_, adapter.kept_ns);
  }
  return start;
}

// While a bucket is on its way a message finds data before it, unless it stands behind another one
// that has waited already: on average half of what may stand there.
std::int64_t Wires::wire_time(std::int64_t depart, int from, int to, std::size_t bytes) {
  if (host_of(from) == host_of(to)) return depart + to_ns(network_.local_latency_us);
  const double per_us = network_.gb_per_s * 1e3;
  const std::int64_t gap = to_ns(network_.gap_us);
  const std::int64_t stretch = to_ns(static_cast<double>(bytes) / per_us);
  Adapter& out = out_[adapter_of(from)];
  if (data_runs_ && depart >= out.free_ns) depart += to_ns(network_.data_queue_bytes / 2 / per_us);
  const std::int64_t start = pass(out, depart, gap + stretch);
  std::int64_t there = start + stretch + to_ns(network_.latency_us);
  if (two_level_) there = through_switches(there, from, to, bytes);
  return pass(in_[adapter_of(to)], there, gap + stretch);
}

std::int64_t Wires::through_switches(std::int64_t there, int from, int to, std::size_t bytes) {
  const auto switch_of = [&](int rank) {
    return static_cast<std::size_t>(host_of(rank) / network_.hosts_per_switch);
  };
  if (switch_of(from) == switch_of(to)) return there;
  const double per_us = network_.gb_per_s * 1e3 * nics_ * network_.hosts_per_switch /
                        std::max(network_.oversubscription, 1e-6);
  const std::int64_t stretch = to_ns(static_cast<double>(bytes) / per_us);
  there = pass(up_[switch_of(from)], there, stretch) + to_ns(network_.spine_us);
  return pass(down_[switch_of(to)], there, stretch);
}

std::int64_t Wires::disturbed(std::int64_t arrival, int from, int to) {
  if (rng_.uniform() < faults_.delay_probability) {
    arrival += to_ns(exponential(rng_, faults_.delay_mean_ms) * 1e3);
  }
  if (rng_.uniform() < faults_.reorder_probability) {
    arrival += to_ns(rng_.uniform() * faults_.delay_mean_ms * 1e3);
  }
  // Messages that a partition holds up are sent again once it is over.
  for (const Partition& cut : faults_.partitions) {
    const bool apart = (from < cut.boundary) != (to < cut.boundary);
    if (apart && arrival >= to_ns(cut.from_ms * 1e3) && arrival < to_ns(cut.until_ms * 1e3)) {
      arrival = to_ns(cut.until_ms * 1e3) + to_ns(network_.latency_us);
    }
  }
  return arrival;
}

void Wires::arrive(const Event& event, std::vector<Parcel>& out) {
  if (!disturbed_) {
    out.push_back(parcels_.take(event.payload));
    return;
  }
  const Parcel& parcel = parcels_.at(event.payload);
  ready_.clear();
  repeated_.clear();
  sequencer_.arrived(parcel.from, static_cast<int>(event.actor), parcel.number, event.payload,
                     ready_, repeated_);
  for (const std::uint32_t handle : ready_) out.push_back(parcels_.take(handle));
  for (const std::uint32_t handle : repeated_) static_cast<void>(parcels_.take(handle));
}

}  // namespace unisono::sim
