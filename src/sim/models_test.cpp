// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The models around the real code: networks, hosts, workloads, wires.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim/network/collective_cost.hpp"
#include "sim/network/host.hpp"
#include "sim/network/network.hpp"
#include "sim/network/wires.hpp"
#include "sim/workload/workload.hpp"

namespace unisono::sim {
namespace {

using testing::HasSubstr;

TEST(Workload, RefusesTracesThatCannotBe) {
  Workload w{"t", {{"a", 4, 1}, {"a", 4, 2}}, 0};
  EXPECT_THAT(finish_workload(w).message(), HasSubstr("listed twice"));
  w.tensors = {{"a", 0, 1}};
  EXPECT_THAT(finish_workload(w).message(), HasSubstr("bytes above 0"));
  w.tensors.clear();
  EXPECT_THAT(finish_workload(w).message(), HasSubstr("no tensors"));
  w.tensors = {{"b", 4, 9}, {"a", 4, 2}};
  ASSERT_TRUE(finish_workload(w).ok());
  EXPECT_EQ(w.tensors.front().name, "a");
  EXPECT_EQ(w.compute_us, 9);
}

TEST(Workload, ForwardTimesLieBeforeTheGradientAndWithinTheForwardPass) {
  const auto fault = [](double ready_us, double needed_us, double forward_us) {
    Workload w{"t", {{"a", 4, ready_us, needed_us}}, 0, forward_us};
    return finish_workload(w).message();
  };
  EXPECT_EQ(fault(9, 0, 0), "");
  EXPECT_EQ(fault(9, 3, 0), "");
  EXPECT_EQ(fault(9, 3, 3), "");
  EXPECT_THAT(fault(9, -1, 0), HasSubstr("tensor a needs forward_us of 0 or more"));
  EXPECT_THAT(fault(9, 10, 0), HasSubstr("tensor a has its gradient (ready_us) before"));
  EXPECT_THAT(fault(9, 4, 3), HasSubstr("tensor a is needed after the end of the forward pass"));
  EXPECT_THAT(fault(9, 4, 10), HasSubstr("forward_us, the length of the forward pass"));
  EXPECT_THAT(fault(9, 4, -1), HasSubstr("forward_us, the length of the forward pass"));
}

TEST(Workload, WhatNoMachineCouldHoldIsRefused) {
  constexpr std::int64_t kMost = 1'000'000'000'000'000'000;
  Workload w{"t", {{"a", kMost, 1}}, 0};
  EXPECT_TRUE(finish_workload(w).ok());
  w.tensors = {{"a", kMost, 1}, {"b", 1, 1}};
  EXPECT_THAT(finish_workload(w).message(), HasSubstr("more than 10^18 bytes together"));
  w.tensors = {{"a", kMost + 1, 1}};
  EXPECT_THAT(finish_workload(w).message(), HasSubstr("bytes of at most 10^18"));
  w.tensors = {{"a", 4, 2e12}};
  EXPECT_THAT(finish_workload(w).message(), HasSubstr("ready_us of at most 10^12"));
  w.tensors = {{"a", 4, std::nan("")}};
  EXPECT_THAT(finish_workload(w).message(), HasSubstr("ready_us of 0 or more"));
  w = {"t", {{"a", 4, 1}}, 2e12};
  EXPECT_THAT(finish_workload(w).message(), HasSubstr("compute_us is above 10^12"));
}

TEST(Workload, FewerSamplesTakeLessTimeButForAFixedShare) {
  const Workload whole = make_workload("resnet50").value();
  EXPECT_EQ(whole.batch, 64);
  const Workload half = with_batch(whole, 32, 0.2);
  EXPECT_EQ(half.batch, 32);
  EXPECT_NEAR(half.compute_us, 0.6 * whole.compute_us, 1e-6);
  EXPECT_NEAR(half.forward_us, 0.6 * whole.forward_us, 1e-6);
  EXPECT_NEAR(half.tensors[9].ready_us, 0.6 * whole.tensors[9].ready_us, 1e-6);
  EXPECT_NEAR(half.tensors[9].forward_us, 0.6 * whole.tensors[9].forward_us, 1e-6);
  EXPECT_EQ(half.bytes(), whole.bytes());
  EXPECT_NEAR(with_batch(whole, 1, 0).compute_us, whole.compute_us / 64, 1e-6);
  EXPECT_NEAR(with_batch(whole, 64).compute_us, whole.compute_us, 1e-6);
  EXPECT_EQ(make_workload("gpt2")->batch, 8);
  EXPECT_EQ(make_workload("stemdl")->batch, 0) << "its batch was not published";
}

TEST(Network, KnowsItsNamesAndReadsParameters) {
  for (const char* name :
       {"wifi", "100mbe", "1gbe", "10gbe", "25gbe", "40gbe", "100gbe", "200gbe", "400gbe",
        "infiniband-fdr", "infiniband-edr", "infiniband-hdr", "infiniband-ndr", "aries",
        "summit"}) {
    EXPECT_TRUE(parse_network(name).ok()) << name;
  }
  auto custom = parse_network("alpha=5e-5,beta=1e-9");
  ASSERT_TRUE(custom.ok()) << custom.status().to_string();
  EXPECT_NEAR(custom->hop_us, 50, 1e-9);
  EXPECT_NEAR(custom->gb_per_s, 1, 1e-9);
  EXPECT_FALSE(parse_network("11gbe").ok());
  EXPECT_FALSE(parse_network("alpha=5e-5").ok());
  EXPECT_FALSE(parse_network("alpha=x,beta=1e-9").ok());
  for (const char* text : {"alpha=inf,beta=1e-9", "alpha=nan,beta=1e-9", "alpha=1e-5,beta=nan",
                           "alpha=1e300,beta=1e300", "alpha=1e-5,beta=inf",
                           "alpha=1e-5,beta=1e-9,gamma=nan", "alpha=1e-5,beta=1e-9,gamma=-1"}) {
    EXPECT_FALSE(parse_network(text).ok()) << text;
  }
}

TEST(Network, EveryRowHasItsFiguresAndSaysWhereTheyComeFrom) {
  std::set<std::string> names;
  for (const Network& network : network_table()) {
    EXPECT_TRUE(names.insert(network.name).second) << network.name;
    EXPECT_FALSE(network.source.empty()) << network.name;
    EXPECT_GT(network.latency_us, 0) << network.name;
    EXPECT_GT(network.gb_per_s, 0) << network.name;
    EXPECT_GT(network.hop_us, network.latency_us) << network.name;
    EXPECT_GT(network.attained, 0) << network.name;
    EXPECT_LE(network.attained, 1) << network.name;
  }
}

TEST(Network, AFasterKindOfTheSameFamilyIsFasterAtEverySize) {
  const std::vector<std::vector<const char*>> families = {
      {"100mbe", "1gbe", "10gbe", "25gbe", "40gbe", "100gbe", "200gbe", "400gbe"},
      {"infiniband-fdr", "infiniband-edr", "infiniband-hdr", "infiniband-ndr"}};
  for (const auto& family : families) {
    for (std::size_t i = 1; i < family.size(); ++i) {
      for (const std::int64_t bytes : {4, 1 << 20, 100 << 20}) {
        EXPECT_LT(allreduce_cost(parse_network(family[i]).value(), bytes, 16, 1).total_us(),
                  allreduce_cost(parse_network(family[i - 1]).value(), bytes, 16, 1).total_us())
            << family[i] << ", " << bytes;
      }
    }
  }
}

TEST(Network, AllreduceGrowsWithBytesAndRanksAndSharesTheAdapter) {
  const Network net = parse_network("10gbe").value();
  double last = 0;
  for (const int ranks : {2, 4, 16, 256}) {
    const double us = allreduce_cost(net, 1 << 20, ranks, 1).total_us();
    EXPECT_GT(us, last);
    last = us;
  }
  EXPECT_GT(allreduce_cost(net, 2 << 20, 16, 4).total_us(),
            allreduce_cost(net, 1 << 20, 16, 4).total_us());
  // Sixteen ranks on four hosts put a payload on each adapter once, not four times.
  EXPECT_LT(allreduce_cost(net, 64 << 20, 16, 4).total_us(),
            1.5 * allreduce_cost(net, 64 << 20, 4, 1).total_us());
}

TEST(Host, SpinningCostsComputeOnlyWhereCoresAreShort) {
  HostModel host;
  host.cores_per_rank = 7;
  host.busy_threads = 7;
  host.stall_mean_ms = 4;
  host.displaced_per_ms = 0.01;
  Rng rng(5);
  const auto lost_ms = [&] {
    double sum = 0;
    for (int i = 0; i < 100000; ++i) {
      sum += static_cast<double>(displaced_ns(host, rng, 2'000'000)) * 1e-6;
    }
    return sum / 100000;
  };
  // An eighth of the time, since eight threads share seven cores, and now and then a stall.
  EXPECT_NEAR(lost_ms(), 2.0 / 8 + 0.01 * 2 * 4, 0.008);
  EXPECT_EQ(displaced_ns(host, rng, -5), 0);
  host.partitioned = true;
  EXPECT_EQ(lost_ms(), 0);
  host.partitioned = false;
  host.busy_threads = 6;
  EXPECT_EQ(lost_ms(), 0);
}

TEST(Host, NoiseHasTheAskedForShape) {
  HostModel host;
  host.jitter_sigma = 0.05;
  host.stall_probability = 0.01;
  host.stall_mean_ms = 4;
  Rng rng(3);
  double sum = 0, squares = 0, stalls = 0, stalled_ms = 0;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    const StepNoise noise = step_noise(host, rng);
    const double log = std::log(noise.factor);
    sum += log;
    squares += log * log;
    if (noise.stall_ns > 0) ++stalls, stalled_ms += static_cast<double>(noise.stall_ns) * 1e-6;
  }
  EXPECT_NEAR(sum / kDraws, 0, 1e-3);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.05, 1e-3);
  EXPECT_NEAR(stalls / kDraws, 0.01, 1e-3);
  EXPECT_NEAR(stalled_ms / stalls, 4, 0.3);
}

TEST(Wires, TheAdapterOfAHostLetsOneMessageOutAfterAnother) {
  Network net = parse_network("10gbe").value();
  const Faults none;
  EventQueue events;
  Wires wires(net, none, 8, 4, 1, events, 7);
  const auto arrival = [&](int from, int to) {
    EventQueue& queue = events;
    wires.send(0, from, to, std::vector<std::byte>(125'000));
    const Event event = queue.pop();
    std::vector<Parcel> parcels;
    wires.arrive(event, parcels);
    EXPECT_EQ(parcels.front().from, from);
    EXPECT_EQ(event.actor, static_cast<std::uint32_t>(to));
    return event.at_ns;
  };
  const auto first = arrival(0, 4);
  const auto second = arrival(1, 5);    // from and to the same hosts
  EXPECT_NEAR(static_cast<double>(first) * 1e-3, net.overhead_us + 100 + net.latency_us, 1);
  EXPECT_GE(second - first, 100'000);   // 125 kB at 1.25 GB/s
  EXPECT_LT(arrival(0, 1), first);      // within the host
}

TEST(LinkSequencer, UndoesDuplicationAndReordering) {
  Rng rng(8);
  LinkSequencer sequencer;
  struct Copy {
    int from;
    std::uint32_t number;
  };
  std::vector<Copy> wire;
  for (int i = 0; i < 3000; ++i) {
    const int from = static_cast<int>(rng.below(3));
    const std::uint32_t number = sequencer.number(from, 9);
    wire.insert(wire.end(), 1 + rng.below(3), Copy{from, number});
  }
  rng.shuffle(wire);
  std::vector<std::uint32_t> in_order, repeated, next(3);
  for (std::size_t i = 0; i < wire.size(); ++i) {
    in_order.clear();
    sequencer.arrived(wire[i].from, 9, wire[i].number, static_cast<std::uint32_t>(i), in_order,
                      repeated);
    for (const std::uint32_t handle : in_order) {
      ASSERT_EQ(wire[handle].number, next[static_cast<std::size_t>(wire[handle].from)]++);
    }
  }
  EXPECT_EQ(next[0] + next[1] + next[2], 3000u);
  EXPECT_EQ(repeated.size(), wire.size() - 3000);
}

}  // namespace
}  // namespace unisono::sim
