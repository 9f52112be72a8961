// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: a host whose members are stepped by one thread, and reference results.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>

#include "base/data/rng.hpp"
#include "kernels/kernels_reference.hpp"
#include "move/local/local.hpp"

namespace unisono::move {

inline constexpr std::size_t kHostBytes = 64u << 20;

// A host with n members in one process: every member sees every segment.
class LocalTestHost {
 public:
  LocalTestHost(int n, std::uint64_t seed, int threads = 1, std::size_t bytes = kHostBytes)
      : rng_(seed) {
    for (int i = 0; i < n; ++i) {
      segments_.push_back(std::make_unique<arena::Segment>(arena::Segment::create(bytes).value()));
      heaps_.push_back(std::make_unique<arena::Heap>(arena::kBoardBytes, bytes));
      bells_.push_back(std::make_unique<Doorbell>());
    }
    for (int i = 0; i < n; ++i) teams_.push_back(make_team(i, 3, threads));
  }
  std::unique_ptr<LocalTeam> make_team(int i, std::size_t slot, int threads = 1) {
    std::vector<arena::Neighbour> neighbours;
    for (std::size_t j = 0; j < segments_.size(); ++j) {
      const std::size_t bytes = segments_[j]->size();
      neighbours.push_back({segments_[j]->base(), bytes, bytes, bells_[j]->ringer()});
    }
    return std::make_unique<LocalTeam>(std::move(neighbours), i, slot, segments_[i].get(),
                                       heaps_[i].get(), threads);
  }
  LocalTeam& team(int i) { return *teams_[static_cast<std::size_t>(i)]; }
  std::byte* resident(int i, std::size_t bytes) {
    return segments_[i]->at(*heaps_[i]->take(bytes, 64));
  }
  void give_back(int i, const std::byte* block) {
    heaps_[i]->give_back(segments_[i]->offset_of(block));
  }
  arena::Heap& heap(int i) { return *heaps_[i]; }
  Doorbell& bell(int i) { return *bells_[i]; }

  using Machines = std::vector<std::unique_ptr<LocalCollective>>;
  // Steps members in random order until all have finished. finished(i) may replace member i's
  // machine with its next one. Checks what an engine that sleeps counts on: a machine that waited
  // is not ready, and some machine is ready as long as there is work.
  void run_all(Machines& machines, const std::function<void(std::size_t)>& finished) {
    while (true) {
      std::vector<std::size_t> open, ready;
      for (std::size_t i = 0; i < machines.size(); ++i) {
        if (machines[i] != nullptr) open.push_back(i);
        if (machines[i] != nullptr && machines[i]->ready()) ready.push_back(i);
      }
      if (open.empty()) return;
      ASSERT_FALSE(ready.empty()) << "all sleep: " << machines[open[0]]->describe();
      // A few turns in a row take a member far ahead of the others.
      const std::size_t pick = rng_.below(4) == 0 ? open[rng_.below(open.size())]
                                                  : ready[rng_.below(ready.size())];
      for (std::uint64_t turns = 1 + rng_.below(6); turns > 0; --turns) {
        const Step step = machines[pick]->step();
        if (step == Step::finished) {
          machines[pick].reset();
          finished(pick);
          if (testing::Test::HasFatalFailure()) return;
          break;
        }
        if (step == Step::advanced) continue;
        ASSERT_FALSE(machines[pick]->ready()) << "spins: " << machines[pick]->describe();
        break;
      }
    }
  }
  void run(Machines machines) {
    run_all(machines, [](std::size_t) {});
  }
  Rng& rng() { return rng_; }

 private:
  Rng rng_;
  std::vector<std::unique_ptr<arena::Segment>> segments_;
  std::vector<std::unique_ptr<arena::Heap>> heaps_;
  std::vector<std::unique_ptr<Doorbell>> bells_;
  std::vector<std::unique_ptr<LocalTeam>> teams_;
};

using Bytes = std::vector<std::byte>;

inline Bytes filled(DType dtype, std::size_t count, Rng& rng) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int>(rng.below(9)) - 2);
  Bytes out(count * size_of(dtype));
  kernels::reference::cast(dtype, out.data(), DType::f32, values.data(), 0, count);
  return out;
}

inline Bytes expected(DType dtype, ReduceOp op, const std::vector<Bytes>& inputs,
                      std::size_t count) {
  Bytes out(inputs[0].size());
  std::vector<const void*> pointers;
  for (const Bytes& input : inputs) pointers.push_back(input.data());
  kernels::reference::reduce_many(dtype, op, out.data(), pointers, 0, count);
  return out;
}

}  // namespace unisono::move
