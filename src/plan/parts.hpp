// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The pieces every planner is made of. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "model/plan.hpp"

namespace unisono::plan {

// Cuts a Response into parts, each of which one collective can carry. A tensor or a failure is one
// part; a group becomes one part per kind of tensor in it, or per tensor where the collective
// cannot fuse. Parts keep the Response's sequence and the order of its tensors.
std::vector<Response> alike_parts(Response response);
bool is_group(const Response& response);
bool can_fuse(const Response& response);
// Whether both may travel in one collective; each is a part that can_fuse().
bool alike(const Response& a, const Response& b);
std::size_t bytes_of(const Response& response);

// Gathers buckets in order of their first response and numbers them at the end.
class PlanBuilder {
 public:
  // Opens a bucket that further parts may join, and returns its position.
  std::size_t open(Response part);
  void append(std::size_t position, Response part);
  const Bucket& at(std::size_t position) const { return plan_.buckets[position]; }
  Plan finish(std::uint64_t first_id);

 private:
  Plan plan_;
};

}  // namespace unisono::plan
