// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests: arranges an iteration in any way that its edges allow, another one each time, and finds
// the last one better half of the time. Sometimes it gives nonsense, which must not be followed.
#pragma once

#include <algorithm>
#include <vector>

#include "base/data/rng.hpp"
#include "model/iteration/iteration_graph.hpp"
#include "model/options/option_values.hpp"

namespace unisono::order {

class AnyArranger final : public IterationArranger {
 public:
  explicit AnyArranger(std::uint64_t seed, std::uint32_t channels = 1)
      : rng_(seed), channels_(channels) {}

  std::string_view name() const override { return "any"; }
  IterationBuckets arrange(const IterationGraph& graph) const override {
    if (rng_.below(16) == 0) return {{0, 0}};
    IterationBuckets buckets;
    std::vector<bool> placed(graph.units.size(), false);
    for (std::size_t done = 0; done < graph.units.size(); ++done) {
      std::vector<std::uint32_t> free;
      for (std::uint32_t u = 0; u < graph.units.size(); ++u) {
        bool is_free = !placed[u];
        for (std::size_t from = 0; from < graph.units.size(); ++from) {
          is_free = is_free && (placed[from] || !graph.edges.has(from, u));
        }
        if (is_free) free.push_back(u);
      }
      const std::uint32_t unit = free[rng_.below(free.size())];
      placed[unit] = true;
      if (buckets.empty() || rng_.below(2) == 0 || !shares(graph, buckets.back(), unit)) {
        buckets.emplace_back();
      }
      buckets.back().push_back(unit);
    }
    return buckets;
  }
  // Any channel, algorithm and codec that may be chosen; sometimes none, and sometimes one too many.
  IterationMethods methods(const IterationGraph& graph,
                           const IterationBuckets& buckets) const override {
    IterationMethods methods;
    if (rng_.below(4) == 0) return methods;
    for (const auto& bucket : buckets) {
      const IterationUnit& first = graph.units[bucket.front()];
      BucketMethod& method = methods.emplace_back().method;
      method.channel = first.team > 0 ? (first.team - 1) % channels_
                                      : static_cast<std::uint32_t>(rng_.below(channels_));
      if (!first.sums) continue;
      if (rng_.below(2) == 0) method.algorithm = rng_.below(2) == 0 ? "ring" : "direct";
      const auto codecs = split_list(first.codecs);
      if (rng_.below(2) == 0) method.codec = codecs[rng_.below(codecs.size())];
      methods.back().reason = "by chance";
    }
    if (rng_.below(16) == 0) methods.front().method.codec = "morse";
    return methods;
  }
  double finish_s(const IterationGraph&, const IterationBuckets&,
                  const IterationMethods&) const override {
    return rng_.uniform();
  }

 private:
  static bool shares(const IterationGraph& graph, const std::vector<std::uint32_t>& bucket,
                     std::uint32_t unit) {
    const IterationUnit &first = graph.units[bucket.front()], &own = graph.units[unit];
    return !first.alone && !own.alone && first.kind == own.kind &&
           std::none_of(bucket.begin(), bucket.end(),
                        [&](std::uint32_t each) { return graph.edges.has(each, unit); });
  }

  mutable Rng rng_;
  const std::uint32_t channels_;
};

}  // namespace unisono::order
