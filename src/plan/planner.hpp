// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Groups the tensors that a negotiation round found ready into buckets. Pure: same responses, same plan, on every rank.
// Only allreduces fuse, and only those alike in dtype, op, scales, codec and absent members;
// everything else, failed responses included, keeps a bucket of its own. A group stays whole and
// alone unless fuse_groups is set; one whose tensors no single collective can carry becomes
// consecutive buckets, each with its part of the Response under the same sequence number.
// Thread: any; holds no state. Bucket ids continue from first_id.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model/plan.hpp"
#include "model/options/registry.hpp"

namespace unisono::plan {

struct PlannerSettings {
  std::int64_t fusion_bytes = 64 << 20;
  bool fuse_groups = false;
};

class Planner {
 public:
  virtual ~Planner() = default;
  virtual std::string_view name() const = 0;
  virtual Plan plan(std::vector<Response> responses, std::uint64_t first_id) const = 0;
};

using PlannerRow = RegistryRow<std::unique_ptr<Planner> (*)(const PlannerSettings&)>;
std::span<const PlannerRow> planner_table();
// Makes the planner of that name in the table. One that only arranges whole iterations
// (plan/iteration) fills the buckets of a round as threshold does. Null when unknown.
std::unique_ptr<Planner> make_planner(std::string_view name, PlannerSettings settings);

}  // namespace unisono::plan
