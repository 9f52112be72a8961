// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/iteration/iteration_graph.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"

namespace unisono {

std::string fault_of(const IterationGraph& graph, const IterationBuckets& buckets) {
  const std::size_t count = graph.units.size();
  if (graph.edges.units() != count) return "the edges are of other units";
  std::vector<std::size_t> bucket_of(count, SIZE_MAX);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    if (buckets[b].empty()) return cat("bucket ", b, " is empty");
    for (const std::uint32_t unit : buckets[b]) {
      if (unit >= count) return cat("there is no unit ", unit);
      if (bucket_of[unit] != SIZE_MAX) return cat("unit ", unit, " is in two places");
      bucket_of[unit] = b;
      const IterationUnit &first = graph.units[buckets[b].front()], &own = graph.units[unit];
      if (own.kind != first.kind || (own.alone && buckets[b].size() > 1)) {
        return cat("unit ", unit, " may not share bucket ", b);
      }
    }
  }
  for (std::size_t to = 0; to < count; ++to) {
    if (bucket_of[to] == SIZE_MAX) return cat("unit ", to, " is in no bucket");
    for (std::size_t from = 0; from < count; ++from) {
      if (graph.edges.has(from, to) && bucket_of[from] >= bucket_of[to]) {
        return cat("unit ", to, " does not come after unit ", from, ", which it needs");
      }
    }
  }
  return {};
}

std::string fault_of(const IterationGraph& graph, const IterationBuckets& buckets,
                     const IterationMethods& methods, std::uint32_t channels) {
  if (methods.size() != buckets.size()) return "the methods are of other buckets";
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const BucketMethod& method = methods[b].method;
    const IterationUnit& first = graph.units[buckets[b].front()];
    if (method.channel >= channels) return cat("there is no channel ", method.channel);
    if (first.team > 0 && method.channel != (first.team - 1) % channels) {
      return cat("bucket ", b, " is not in the channel of its team");
    }
    if (!first.sums && !(method.algorithm.empty() && method.codec.empty())) {
      return cat("bucket ", b, " has no method to choose");
    }
    const auto allowed = split_list(first.codecs);
    if (!method.codec.empty() &&
        std::find(allowed.begin(), allowed.end(), method.codec) == allowed.end()) {
      return cat("bucket ", b, " may not be encoded by ", method.codec);
    }
  }
  return {};
}

}  // namespace unisono
