// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Machines over several hosts when things do not end together: members that have finished write to
// their memory and go on, others are abandoned, lost or at another bucket.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/data/text.hpp"
#include "base/testing/effort.hpp"
#include "move/testing/hosts.hpp"
#include "move/testing/oracle.hpp"

namespace unisono::move {
namespace {

constexpr std::string_view kHostKinds[] = {"allreduce", "allgather", "broadcast", "reducescatter",
                                           "alltoall"};
const std::vector<std::vector<int>> kHostSizes = {{2, 2}, {3, 1}, {1, 2, 4}};

// What one member brings to a collective and gets from it.
struct HostsHolding {
  Buffer in, out;
};

// A collective of floats with equal parts: sums of small numbers, exact in any order.
struct HostsWork {
  HostsWork(std::string_view what, std::size_t members, std::size_t elements, Rng& rng)
      : kind(what), n(members), part(elements * sizeof(float)) {
    std::vector<float> sum(n * elements, 0);
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<float> values(n * elements);
      for (float& value : values) value = static_cast<float>(rng.below(9));
      std::transform(values.begin(), values.end(), sum.begin(), sum.begin(), std::plus<>());
      inputs.emplace_back(n * part);
      std::memcpy(inputs.back().data(), values.data(), n * part);
    }
    Buffer sums(n * part);
    std::memcpy(sums.data(), sum.data(), n * part);
    const auto piece = [&](const Buffer& from, std::size_t index) {
      return std::span(from).subspan(index * part, part);
    };
    for (std::size_t i = 0; i < n; ++i) {
      Buffer want;
      const auto put = [&](std::span<const std::byte> bytes) {
        want.insert(want.end(), bytes.begin(), bytes.end());
      };
      if (kind == "allreduce") put(sums);
      if (kind == "broadcast") put(inputs[n - 1]);
      if (kind == "reducescatter") put(piece(sums, i));
      for (std::size_t from = 0; from < n; ++from) {
        if (kind == "allgather") put(piece(inputs[from], 0));
        if (kind == "alltoall") put(piece(inputs[from], i));
      }
      wants.push_back(std::move(want));
    }
  }
  bool in_place() const { return kind == "allreduce" || kind == "broadcast"; }
  HostsHolding holding(std::size_t i) const {
    return {inputs[i], in_place() ? Buffer() : Buffer(wants[i].size())};
  }
  std::unique_ptr<CollectiveMachine> make(const MoveContext& context, HostsHolding& h) const {
    const Extents counts(n, part);
    if (kind == "allgather") {
      return make_allgather(context, std::span(h.in).first(part), counts, h.out);
    }
    if (kind == "broadcast") return make_broadcast(context, static_cast<int>(n) - 1, h.in);
    if (kind == "reducescatter") {
      return make_reducescatter(context, DType::f32, ReduceOp::sum, h.in, counts, h.out,
                                "hierarchical");
    }
    if (kind == "alltoall") {
      return make_alltoall(context, {h.in, counts, h.out, counts, Extents(n, n * part)},
                           "hierarchical");
    }
    return make_allreduce("hierarchical", context, DType::f32, ReduceOp::sum, h.in);
  }

  // On all members at once; `odd` runs another bucket.
  struct Started {
    std::vector<HostsHolding> held;
    std::vector<std::unique_ptr<CollectiveMachine>> machines;
  };
  Started started(Hosts& hosts, std::size_t odd = SIZE_MAX) const {
    Started all;
    all.held.reserve(n);                    // machines work on what they hold
    for (std::size_t i = 0; i < n; ++i) {
      all.held.push_back(holding(i));
      MoveContext context = hosts.context(i, 1);
      if (i == odd) context.identity += 0x1000000;
      all.machines.push_back(make(context, all.held[i]));
    }
    return all;
  }

  std::string_view kind;
  std::size_t n, part;
  std::vector<Buffer> inputs, wants;
};

// Large enough for all of them to be hierarchical; the last for several chunks.
constexpr std::size_t kPartElements[] = {9000, 12'345, 200'003};

TEST(HostsAfterCompletion, MemoryIsTheCallersAgain) {
  constexpr std::size_t kOperations = 12;
  std::uint64_t seed = 20;
  for (const auto& sizes : kHostSizes) {
    SCOPED_TRACE(join_text(sizes));
    Hosts hosts(sizes, ++seed, true);
    Rng& rng = hosts.hub.rng();
    const std::size_t n = hosts.sets.size();
    std::vector<HostsWork> works;
    for (std::size_t k = 0; k < kOperations; ++k) {
      const std::size_t sizes_used = short_of_time() ? 2 : 3;
      works.emplace_back(kHostKinds[k % std::size(kHostKinds)], n,
                         kPartElements[rng.below(sizes_used)], rng);
    }
    std::vector<std::vector<HostsHolding>> holdings(n);
    for (auto& held : holdings) held.reserve(kOperations);
    std::vector<std::unique_ptr<CollectiveMachine>> machines(n);
    const auto start = [&](std::size_t i) {
      const std::size_t k = holdings[i].size();
      holdings[i].push_back(works[k].holding(i));
      machines[i] = works[k].make(hosts.context(i, 10 + k), holdings[i].back());
    };
    for (std::size_t i = 0; i < n; ++i) start(i);
    std::size_t open = n;
    for (std::uint64_t turn = 0; open > 0; ++turn) {
      ASSERT_LT(turn, 5'000'000u) << "stuck";
      const std::size_t i = rng.below(n);
      static_cast<void>(hosts.hub.pump());
      if (machines[i] == nullptr || machines[i]->step() != Step::finished) continue;
      machines[i].reset();
      HostsHolding& h = holdings[i].back();
      const std::size_t k = holdings[i].size() - 1;
      ASSERT_EQ(works[k].in_place() ? h.in : h.out, works[k].wants[i])
          << works[k].kind << " on member " << i;
      std::fill(h.in.begin(), h.in.end(), std::byte(0xC5));
      std::fill(h.out.begin(), h.out.end(), std::byte(0xC5));
      if (k + 1 < kOperations) start(i);
      else --open;
    }
    for (const auto& held : holdings) {
      for (const HostsHolding& h : held) {
        for (const Buffer* buffer : {&h.in, &h.out}) {
          ASSERT_TRUE(std::all_of(buffer->begin(), buffer->end(),
                                  [](std::byte b) { return b == std::byte(0xC5); }));
        }
      }
    }
  }
}

// From abandon() on nothing is read from, or written to, the caller's memory by messages; the others
// neither finish wrongly nor are disturbed.
TEST(HostsAfterCompletion, AMemberMayBeAbandonedInTheMiddle) {
  std::uint64_t seed = 60;
  for (const auto& sizes : kHostSizes) {
    for (const std::string_view kind : {"allreduce", "reducescatter", "alltoall"}) {
      for (std::size_t steps = 0; steps < 6; ++steps) {
        SCOPED_TRACE(cat(join_text(sizes), " ", kind, " ", steps, " steps"));
        Hosts hosts(sizes, ++seed, true);
        const std::size_t n = hosts.sets.size(), leaver = seed % n;
        const HostsWork work(kind, n, 12'345, hosts.hub.rng());
        HostsWork::Started all = work.started(hosts);
        auto& machines = all.machines;
        auto& held = all.held;
        const auto turn = [&](std::size_t i) {
          if (machines[i] != nullptr && machines[i]->step() == Step::finished) {
            EXPECT_EQ(work.in_place() ? held[i].in : held[i].out, work.wants[i]);
            machines[i].reset();
          }
        };
        for (std::size_t k = 0; k < steps; ++k) {
          for (std::size_t i = 0; i < n; ++i) turn(i);
          for (int moves = 0; moves < 3; ++moves) static_cast<void>(hosts.hub.pump());
        }
        if (machines[leaver] == nullptr) continue;
        machines[leaver]->abandon();
        machines[leaver].reset();
        held[leaver].in.assign(held[leaver].in.size(), std::byte(0xC5));
        held[leaver].out.assign(held[leaver].out.size(), std::byte(0xC5));
        for (int k = 0; k < 100; ++k) {
          for (std::size_t i = 0; i < n; ++i) turn(i);
          while (hosts.hub.pump()) {
          }
        }
        for (const Buffer* buffer : {&held[leaver].in, &held[leaver].out}) {
          EXPECT_TRUE(std::all_of(buffer->begin(), buffer->end(),
                                  [](std::byte b) { return b == std::byte(0xC5); }));
        }
        for (auto& machine : machines) {
          if (machine != nullptr) machine->abandon();
        }
      }
    }
  }
}

// A lost member ends nothing wrongly: whoever needs it waits, until the engine ends the operation
// everywhere with one error.
TEST(HostsAfterCompletion, WhoeverNeedsALostMemberWaits) {
  std::uint64_t seed = 90;
  for (const auto& sizes : kHostSizes) {
    for (const std::string_view kind : kHostKinds) {
      SCOPED_TRACE(cat(join_text(sizes), " ", kind));
      Hosts hosts(sizes, ++seed);
      const std::size_t n = hosts.sets.size(), lost = n - 1;
      const HostsWork work(kind, n, 12'345, hosts.hub.rng());
      HostsWork::Started all = work.started(hosts);
      auto& machines = all.machines;
      hosts.hub.lose(static_cast<Rank>(lost));
      for (int k = 0; k < 100; ++k) {
        for (std::size_t i = 0; i < lost; ++i) static_cast<void>(machines[i]->step());
        while (hosts.hub.pump()) {
        }
      }
      for (std::size_t i = 0; i < lost; ++i) {
        EXPECT_EQ(machines[i]->step(), Step::waiting) << i;
        EXPECT_FALSE(machines[i]->describe().empty());
        EXPECT_TRUE(machines[i]->trouble().ok());
        machines[i]->abandon();
      }
    }
  }
}

// Data of another bucket is never summed or delivered, wherever the member that differs is.
TEST(HostsAfterCompletion, MembersAtAnotherBucketAreRefused) {
  std::uint64_t seed = 120;
  for (const auto& sizes : kHostSizes) {
    for (const std::string_view kind : kHostKinds) {
      for (const bool first : {true, false}) {
        SCOPED_TRACE(cat(join_text(sizes), " ", kind, first ? " first" : " last"));
        Hosts hosts(sizes, ++seed);
        const std::size_t n = hosts.sets.size(), odd = first ? 0 : n - 1;
        const HostsWork work(kind, n, 12'345, hosts.hub.rng());
        HostsWork::Started all = work.started(hosts, odd);
        auto& machines = all.machines;
        std::size_t refused = 0;
        for (int k = 0; k < 100; ++k) {
          for (auto& machine : machines) static_cast<void>(machine->step());
          while (hosts.hub.pump()) {
          }
        }
        for (const auto& machine : machines) refused += machine->trouble().ok() ? 0 : 1;
        EXPECT_GT(refused + hosts.hub.disagreements(), 0u);
        // The root of a broadcast may never hear of it.
        if (kind != "broadcast") {
          EXPECT_EQ(machines[odd]->step(), Step::waiting);
        }
      }
    }
  }
}

}  // namespace
}  // namespace unisono::move
