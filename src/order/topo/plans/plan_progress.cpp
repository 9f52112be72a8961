// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/plans/plan_progress.hpp"

#include <algorithm>
#include <string_view>

namespace unisono::order {
namespace {

// What a failure spares here it does not spare everywhere, so that counts alike. Its error names a
// group where there is one, which is in no plan.
bool concerns(const TopoPlan& plan, const Response& response) {
  const auto holds = [&](std::string_view name) { return plan.find(name) != nullptr; };
  return std::any_of(response.tensors.begin(), response.tensors.end(),
                     [&](const Request& tensor) { return holds(tensor.name); }) ||
         std::any_of(response.spared.begin(), response.spared.end(), holds);
}

constexpr int kDisturbancesMax = 2;

}  // namespace

void PlanProgress::restart(const Plans& plans) {
  tracks_.clear();
  for (const auto& plan : plans) {
    tracks_.push_back({plan, std::vector<std::uint8_t>(plan->slots(), 0), 0, false, 0});
  }
  matched_ = 0;
  clean_ = true;
}

void PlanProgress::has_run(const TopoPlan& plan, std::size_t buckets) {
  for (Track& track : tracks_) {
    if (track.plan.get() != &plan) continue;
    track.count = buckets < plan.size() ? plan.first_slot(buckets) : plan.slots();
    std::fill_n(track.ahead.begin(), track.count, std::uint8_t{1});
    clean_ = false;
  }
}

void PlanProgress::drop(const TopoPlan& plan) {
  std::erase_if(tracks_, [&](const Track& track) { return track.plan.get() == &plan; });
}

bool PlanProgress::level() const {
  return std::all_of(tracks_.begin(), tracks_.end(),
                     [](const Track& track) { return track.count == 0; });
}

// Returns whether the plan still holds.
bool PlanProgress::step(Track& track, const Response& response) {
  if (!response.error.ok()) return false;
  for (std::size_t i = 0; i < response.tensors.size(); ++i) {
    const TopoPlan::Place* place = track.plan->find(response.tensors[i].name);
    if (place == nullptr || !track.plan->answers(response, i, *place)) return false;
    if (track.ahead[place->slot] != 0) return false;
    track.ahead[place->slot] = 1;
    ++track.count;
  }
  if (track.count < track.plan->slots()) return true;
  std::fill(track.ahead.begin(), track.ahead.end(), std::uint8_t{0});
  track.count = 0;
  track.disturbances = track.disturbed ? track.disturbances + 1 : 0;
  track.disturbed = false;
  return track.disturbances < kDisturbancesMax;
}

PlanProgress::Heard PlanProgress::answered(const Response& response) {
  Heard heard;
  bool of_a_plan = false;
  for (Track& track : tracks_) {
    if (!concerns(*track.plan, response)) continue;
    of_a_plan = true;
    if (!step(track, response)) heard.broken.push_back(track.plan);
  }
  heard.known = of_a_plan && heard.broken.empty();
  if (!heard.known || !response.absent.empty()) {
    matched_ = 0;
    clean_ = clean_ && level();
  }
  if (!heard.known) {
    for (Track& track : tracks_) track.disturbed |= track.count > 0;
  } else if (level()) {
    matched_ = clean_ && response.absent.empty() ? matched_ + 1 : 0;
    clean_ = true;
  } else if (!response.absent.empty()) {
    clean_ = false;
  }
  return heard;
}

}  // namespace unisono::order
