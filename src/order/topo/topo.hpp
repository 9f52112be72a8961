// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The topo and auto strategies: the order is fixed once and then followed without any message.
//
// Wraps an inner order that negotiates while there is no plan for what is submitted. The common
// sequence of responses is that of the inner order and of the plans in turn, without gaps.
// docs/TOPO.md has the whole story.
//
//   state      event, at the same response on every member           next
//   learning   a new iteration came often enough                     proposing
//              a round ends between two iterations of known plans    planned
//   proposing  all members have the plan                             adopted
//              the inner order refused                               learning
//   adopted    a round ends between two iterations, of the new plan  planned
//              and of all known ones
//              the plan does not fit what was answered since         learning
//   planned    a bucket ended with a vote other than run             learning
//
// The first member also ends a plan when another has become worth the change (plan_drift.hpp).
// While planned, what is in no plan waits; see plans/planned.hpp for how that ends, and
// plans/plan_library.hpp for which plans are known.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "order/order.hpp"
#include "order/topo/arrange.hpp"
#include "order/topo/plan.hpp"
#include "order/topo/plans/planned.hpp"

namespace unisono::order {

struct TopoPolicy {
  std::string_view name = "topo";
  int learn_first = 0;                  // iterations before the first plan; 0 = learn_steps
  // Each plan that broke early doubles the iterations wanted for the next, this many times.
  int doublings_max = 3;
  std::size_t bucket_bytes_max = std::size_t{8} << 20;  // where there is no arranger
  bool fuse_groups = false;             // whether a group may share a bucket with others
  std::uint32_t channels = 1;           // that buckets may travel through at the same time
  Nanos grace{2'000'000};               // for slots to fill once the plan is known to end
  std::size_t plans_max = 8;            // known at a time
  // A graph the framework knows, instead of learning the first plan. All members pass one or none;
  // the first member's counts.
  std::shared_ptr<const TopoGraph> given;
  std::shared_ptr<TopoPool> pool;       // may be null
  // What shares a bucket; may be null.
  std::shared_ptr<const IterationArranger> arranger;
  DriftRules drift;                     // when another arrangement is worth a change
};

using OrderFactory = std::function<std::unique_ptr<Order>(Members, OrderSettings)>;

std::unique_ptr<Order> make_topo(Members members, OrderSettings settings, TopoPolicy policy,
                                 OrderFactory make_inner);
// Plans as soon as it can.
std::unique_ptr<Order> make_topo(Members members, OrderSettings settings);
// Plans what has proved stable; backs off to the inner order for long when plans keep breaking.
std::unique_ptr<Order> make_auto(Members members, OrderSettings settings);

}  // namespace unisono::order
