// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Arranges what the order has learned of an iteration by one of the planners of this folder.
//
// The units are brought into one line that keeps to their edges: as they become ready, of those
// ready together the more urgent first. The planner then cuts the line into buckets, where a cut
// must be: between kinds, around what travels alone, where an edge runs, and, for all but `single`,
// before a bucket would hold more than fusion_bytes.
// No bucket of several units is larger than what can be moved at once (bucket_bytes_max).
//
// `priority` makes the line itself by what is urgent: whenever the channel is free, the most urgent
// of what is ready goes next, with as much of what follows it as fits into a partition. Callers cut
// their tensors into such partitions themselves, so units are never cut here.
// How each bucket travels is then chosen one after the other, by whichever method it ends soonest
// with: an earlier end never delays a later bucket. `merged` looks for the buckets and their methods
// together. Each goes through the channel that is free soonest, unless its team says which.
// Pure but for the costs, which are asked for each time; thread: the one that asks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/iteration/iteration_graph.hpp"
#include "plan/iteration/costs.hpp"
#include "plan/iteration/iteration.hpp"

namespace unisono::plan {

// What buckets take that travel by a codec; all by the bytes of their tensors, whatever is sent of
// them.
struct MethodCost {
  std::unique_ptr<SizeCost> transfer;   // null: the codec is not for such tensors
  std::unique_ptr<SizeCost> encode;     // before the channel is needed; null: takes no time
  // Which algorithm is best for a bucket of tensors of that type, "" where that is left to trials,
  // and why; may be null.
  struct Algorithm {
    std::string name, reason;
  };
  std::function<Algorithm(DType dtype, std::int64_t bytes)> algorithm;
};
// Of a codec and the type of tensors; "" leaves them, or encodes them as they ask for themselves.
using CostsNow = std::function<MethodCost(std::string_view codec, DType dtype)>;

// Null when there is no such planner, or when it arranges more than allreduces (two-phase).
std::unique_ptr<IterationArranger> make_arranger(std::string_view planner,
                                                 const IterationSettings& settings, CostsNow costs);

}  // namespace unisono::plan
