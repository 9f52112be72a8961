// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/iteration/iteration.hpp"

#include <array>

#include "plan/iteration/rows.hpp"

namespace unisono::plan {
namespace {

using Arrange = Arrangement (*)(const IterationProblem&, const IterationSettings&);

// A planner is a function with a name and its settings.
template <Arrange arrange_by>
class NamedPlanner final : public IterationPlanner {
 public:
  NamedPlanner(std::string_view name, const IterationSettings& settings)
      : name_(name), settings_(settings) {}
  std::string_view name() const override { return name_; }
  Arrangement arrange(const IterationProblem& problem) const override {
    return arrange_by(problem, settings_);
  }

 private:
  std::string_view name_;
  IterationSettings settings_;
};

struct Named {
  std::string_view name, about;
};
constexpr Named kWfbp{"wfbp", "one bucket per tensor, as soon as it is ready"};
constexpr Named kSingle{"single", "one bucket for all tensors, after the backward pass"};
constexpr Named kThreshold{"threshold", "fuses tensors in order up to fusion_bytes per bucket"};
constexpr Named kGroups{"groups", "neighbours of one group travel together, other tensors alone"};
constexpr Named kGreedy{"merged-greedy",
                        "joins a tensor to the open bucket if it waits less than that saves"};
constexpr Named kMerged{"merged", "the buckets that end soonest, by any cost"};
constexpr Named kMethods{"merged-methods",
                         "the buckets and their methods that end soonest together"};
constexpr Named kTwoPhase{"two-phase",
                          "reduce-scatter in the backward pass, all-gather in the next forward"};
constexpr Named kPriority{"priority", "early layers first, in partitions within a byte credit"};

template <const Named& named, Arrange arrange>
constexpr IterationRow row() {
  return {named.name, named.about,
          [](const IterationSettings& settings) -> std::unique_ptr<IterationPlanner> {
            return std::make_unique<NamedPlanner<arrange>>(named.name, settings);
          }};
}

constexpr std::array kRows = {
    row<kWfbp, arrange_wfbp>(),
    row<kSingle, arrange_single>(),
    row<kThreshold, arrange_threshold>(),
    row<kGroups, arrange_groups>(),
    row<kGreedy, arrange_greedy>(),
    row<kMerged, arrange_merged>(),
    row<kMethods, arrange_methods>(),
    row<kTwoPhase, arrange_two_phase>(),
    row<kPriority, arrange_priority>(),
};

}  // namespace

IterationSettings horovod_settings() { return {}; }

IterationSettings ddp_settings() {
  IterationSettings settings;
  settings.first_bytes = 1 << 20;
  settings.fusion_bytes = 25 << 20;
  settings.reach_limit = true;
  return settings;
}

std::span<const IterationRow> iteration_table() { return kRows; }

std::unique_ptr<IterationPlanner> make_iteration_planner(std::string_view name,
                                                         const IterationSettings& settings) {
  const IterationRow* found = find_row(kRows, name);
  return found == nullptr ? nullptr : found->make(settings);
}

}  // namespace unisono::plan
