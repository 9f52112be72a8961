// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Hosts with several adapters, switches in two levels, and control beside data.
#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "sim/network/collective_cost.hpp"
#include "sim/network/wires.hpp"
#include "sim/simulation.hpp"
#include "sim/virtual_time.hpp"

namespace unisono::sim {
namespace {

constexpr std::int64_t kLarge = 400 << 20;

Network named(const char* name) { return parse_network(name).value(); }

double large(const Network& network, int ranks, int per_host) {
  return allreduce_cost(network, kLarge, ranks, per_host).bandwidth_us;
}

TEST(Topology, AHostWithTwoAdaptersMovesLargeBucketsTwiceAsFast) {
  Network one = named("25gbe"), two = one;
  two.nics = 2;
  EXPECT_NEAR(large(one, 64, 8) / large(two, 64, 8), 2, 0.1);
  // One rank uses one adapter, however many there are.
  EXPECT_DOUBLE_EQ(large(one, 64, 1), large(two, 64, 1));
}

TEST(Topology, ARingLeavesAHostOnceAndGainsNothingFromASecondAdapter) {
  Network one = named("25gbe");
  one.algorithm = "ring";
  Network two = one;
  two.nics = 2;
  EXPECT_DOUBLE_EQ(large(one, 64, 8), large(two, 64, 8));
}

TEST(Topology, OversubscriptionSlowsWhatCrossesSwitchesAndNothingElse) {
  Network flat = named("25gbe"), deep = flat;
  deep.hosts_per_switch = 8;
  deep.spine_us = 0;
  EXPECT_DOUBLE_EQ(large(flat, 64, 1), large(deep, 64, 1));  // as wide as the adapters
  deep.oversubscription = 4;
  EXPECT_DOUBLE_EQ(large(flat, 8, 1), large(deep, 8, 1));    // one switch
  for (const char* algorithm : {"hierarchical", "halving_doubling", "recursive_doubling"}) {
    flat.algorithm = deep.algorithm = algorithm;
    EXPECT_GT(large(deep, 512, 8), 1.05 * large(flat, 512, 8)) << algorithm;
    EXPECT_LT(large(deep, 512, 8), 4.01 * large(flat, 512, 8)) << algorithm;
  }
  // One stream leaves a switch whose link has room for two, and not one that has it for half.
  flat.algorithm = deep.algorithm = "ring";
  EXPECT_DOUBLE_EQ(large(flat, 64, 1), large(deep, 64, 1));
  deep.oversubscription = 16;
  EXPECT_NEAR(large(deep, 64, 1) / large(flat, 64, 1), 1.9, 0.05);  // sums are as fast
}

TEST(Topology, TheBestAlgorithmIsChosenForTheTopology) {
  Network deep = named("25gbe");
  const double flat = large(deep, 512, 8);
  deep.hosts_per_switch = 16;
  deep.oversubscription = 8;
  const MoveCost best = allreduce_cost(deep, kLarge, 512, 8);
  EXPECT_GE(best.bandwidth_us, flat);
  for (const char* algorithm : {"ring", "hierarchical", "halving_doubling", "double_tree"}) {
    Network forced = deep;
    forced.algorithm = algorithm;
    EXPECT_LE(best.total_us(), allreduce_cost(forced, kLarge, 512, 8).total_us() * (1 + 1e-12));
  }
}

// Sends a message of that many bytes and returns when it arrives.
struct Sender {
  explicit Sender(const Network& of, int ranks, int per_host)
      : network(of), wires(network, faults, ranks, per_host, 1, events, 0) {}
  std::int64_t arrival(std::int64_t now, int from, int to, std::size_t bytes) {
    wires.send(now, from, to, std::vector<std::byte>(bytes));
    const Event event = events.pop();
    std::vector<Parcel> out;
    wires.arrive(event, out);
    return event.at_ns;
  }
  Network network;
  Faults faults;
  EventQueue events;
  Wires wires;
};

TEST(Topology, RanksOfAHostDivideItsAdaptersAmongThemselves) {
  Network network = named("1gbe");
  const auto second_arrives = [&](int nics) {
    network.nics = nics;
    Sender sender(network, 16, 8);
    sender.arrival(0, 0, 8, 100'000);
    return sender.arrival(0, 7, 15, 100'000);
  };
  EXPECT_LT(second_arrives(2), second_arrives(1) - 700'000);
}

TEST(Topology, MessagesBetweenSwitchesWaitForTheLinkUpwards) {
  Network network = named("1gbe");
  network.hosts_per_switch = 4;
  network.oversubscription = 8;         // half of an adapter
  Sender sender(network, 8, 1);
  const std::int64_t near = sender.arrival(0, 0, 1, 100'000);
  const std::int64_t far = sender.arrival(0, 2, 6, 100'000);
  EXPECT_NEAR(static_cast<double>(far - near), 1e3 * network.spine_us, 1);
  // The next one from that switch finds its link in use.
  EXPECT_GT(sender.arrival(0, 3, 7, 100'000), far + 700'000);
}

TEST(Topology, ControlWaitsForDataAndDataForControl) {
  const Network network = named("1gbe");
  Sender sender(network, 4, 1);
  const std::int64_t alone = sender.arrival(0, 0, 1, 1000);
  sender.wires.data_begins();
  const std::int64_t at = 1'000'000'000;
  EXPECT_NEAR(static_cast<double>(sender.arrival(at, 0, 1, 1000) - at - alone),
              network.data_queue_bytes / 2 / 0.125, 10);
  const std::int64_t kept = sender.wires.data_ends();
  EXPECT_NEAR(static_cast<double>(kept), 1e3 * network.gap_us + 1000 / 0.125, 10);
  EXPECT_EQ(sender.wires.data_ends(), 0);
}

TEST(Topology, AgreementTakesLongerWhereMuchDataStandsBeforeIt) {
  SimSettings s;
  s.workload = make_workload("resnet50", 50).value();
  s.network = named("1gbe");
  s.host.jitter_sigma = 0;
  s.ranks = 16;
  s.iterations = 2;
  const auto agreed_ms = [&](const char* order, double bytes) {
    s.order = order;
    s.network.data_queue_bytes = bytes;
    return simulate(s).value().negotiation_ms;
  };
  EXPECT_GT(agreed_ms("coordinator", 16 << 20), agreed_ms("coordinator", 0) + 10);
  // It sends nothing once it follows a plan, also where a step lasts longer than topo_patience_s.
  EXPECT_NEAR(agreed_ms("topo", 16 << 20), agreed_ms("topo", 0), 1);
}

}  // namespace
}  // namespace unisono::sim
