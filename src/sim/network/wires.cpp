// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/wires.hpp"

#include <algorithm>

#include "sim/network/host.hpp"
#include "sim/virtual_time.hpp"

namespace unisono::sim {

Wires::Wires(const Network& network, const Faults& faults, int ranks, int ranks_per_host,
             std::uint64_t seed, EventQueue& events, std::uint8_t arrival_kind)
    : network_(network), faults_(faults), ranks_per_host_(std::max(ranks_per_host, 1)),
      disturbed_(faults.disturbs_messages()), rng_(seed), events_(events),
      arrival_kind_(arrival_kind) {
  const auto hosts = static_cast<std::size_t>((ranks - 1) / ranks_per_host_ + 1);
  out_free_.resize(hosts);
  in_free_.resize(hosts);
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

std::int64_t Wires::wire_time(std::int64_t depart, int from, int to, std::size_t bytes) {
  const auto out = static_cast<std::size_t>(host_of(from));
  const auto in = static_cast<std::size_t>(host_of(to));
  if (out == in) return depart + to_ns(network_.local_latency_us);
  const std::int64_t gap = to_ns(network_.gap_us);
  const std::int64_t stretch = to_ns(static_cast<double>(bytes) / (network_.gb_per_s * 1e3));
  const std::int64_t start = std::max(depart, out_free_[out]);
  out_free_[out] = start + gap + stretch;
  const std::int64_t there = start + stretch + to_ns(network_.latency_us);
  const std::int64_t arrival = std::max(there, in_free_[in]);
  in_free_[in] = arrival + gap + stretch;
  return arrival;
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
