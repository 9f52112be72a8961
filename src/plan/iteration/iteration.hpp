// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Planners that arrange a whole iteration, whose tensors and ready times are known beforehand.
// Pure: the same problem gives the same bits on every rank. Thread: any; holds no state.
//
// Model: one channel carries one bucket after the other. A bucket of the tensors [begin, end)
// starts when the channel is free, its last tensor is ready and it is encoded, and takes what its
// method takes for its bytes. Tensors become ready in backward order: one whose ready_s is below
// that of its predecessor counts as ready together with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model/options/registry.hpp"
#include "plan/iteration/costs.hpp"

namespace unisono::plan {

struct IterationTensor {
  double ready_s = 0;                   // since the step began
  std::int64_t bytes = 0;
  double forward_s = 0;                 // of the next forward pass, that needs this tensor
  int group = -1;                       // -1: none
  // The first tensor with which this one may share a bucket; its own number where it goes alone or
  // begins a bucket. Buckets of all planners keep to it, those of two-phase and priority excepted.
  std::size_t joins_from = 0;
  std::uint64_t methods = UINT64_MAX;   // a bit for each that may carry it, as all of its bucket
};

// How a bucket travels. The costs outlive the problem.
struct Method {
  std::string_view name;
  const SizeCost* transfer = nullptr;
  const SizeCost* encode = nullptr;     // null: takes no time
  bool lossy = false;
};

struct IterationProblem {
  std::span<const IterationTensor> tensors;  // in backward order
  // At least one; the first sends tensors as they are and needs no encoding.
  std::span<const Method> methods;
  // The halves of an allreduce, for two-phase; null: half of the first method's.
  const SizeCost* scatter = nullptr;
  const SizeCost* gather = nullptr;
};

struct IterationSettings {
  std::int64_t fusion_bytes = 64 << 20;  // of threshold
  std::int64_t bucket_bytes_max = INT64_MAX;  // of live plans: what can be moved at once
  std::int64_t first_bytes = 0;         // the same of the first bucket; 0: fusion_bytes
  // Whether the tensor that reaches the limit is still taken (DDP), or begins the next bucket
  // where it would pass it (Horovod).
  bool reach_limit = false;
  bool allow_lossy = false;
  std::uint32_t channels = 1;           // of live plans
  std::int64_t partition_bytes = 4 << 20;  // of priority
  std::int64_t credit_bytes = 8 << 20;  // of priority: handed to the channel and not yet through
};
IterationSettings horovod_settings();   // 64 MiB
IterationSettings ddp_settings();       // 1 MiB, then 25 MiB

struct TimedBucket {
  std::size_t begin = 0, end = 0;       // tensors
  std::size_t method = 0;
  double start_s = 0, end_s = 0;        // on the channel

  friend bool operator==(const TimedBucket&, const TimedBucket&) = default;
};

// Part of a tensor, as priority sends it.
struct TimedPart {
  std::size_t tensor = 0;
  std::int64_t offset = 0, bytes = 0;
  double handed_s = 0, start_s = 0, end_s = 0;

  friend bool operator==(const TimedPart&, const TimedPart&) = default;
};

struct Arrangement {
  std::vector<TimedBucket> buckets;     // consecutive, in order, all tensors once
  std::vector<TimedBucket> gathers;     // two-phase alone: the second halves, as they run
  std::vector<TimedPart> parts;         // priority alone: as they run; buckets are whole tensors
  double finish_s = 0;                  // when the last bucket, gather or part has arrived
  // When the next forward pass would end, and how much of that it waits after the backward pass.
  // It begins when all has arrived; with two-phase and priority each tensor only delays what
  // needs it.
  double forward_end_s = 0, waited_s = 0;

  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};

class IterationPlanner {
 public:
  virtual ~IterationPlanner() = default;
  virtual std::string_view name() const = 0;
  virtual Arrangement arrange(const IterationProblem& problem) const = 0;
};

using IterationRow = RegistryRow<std::unique_ptr<IterationPlanner> (*)(const IterationSettings&)>;
std::span<const IterationRow> iteration_table();
// Makes the planner of that name in the table; null when unknown.
std::unique_ptr<IterationPlanner> make_iteration_planner(std::string_view name,
                                                         const IterationSettings& settings = {});

}  // namespace unisono::plan
