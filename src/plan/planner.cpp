// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "model/options/choices.hpp"
#include "plan/iteration/iteration.hpp"
#include "plan/parts.hpp"

namespace unisono::plan {
namespace {

// Fills one open bucket per kind of tensor. A part joins the open bucket it is alike to while the
// bytes stay within the limit, and otherwise opens the next one of its kind. So tensors of other
// kinds in between do not end a bucket, and buckets run in the order of their first tensor.
class Filling final : public Planner {
 public:
  struct Rules {
    std::size_t bytes_max;
    bool fuse_tensors;                  // whether ungrouped tensors fuse
    bool fuse_groups;                   // whether groups fuse with others
  };
  Filling(std::string_view name, Rules rules) : name_(name), rules_(rules) {}

  std::string_view name() const override { return name_; }

  Plan plan(std::vector<Response> responses, std::uint64_t first_id) const override {
    PlanBuilder builder;
    std::vector<std::size_t> open;
    for (Response& response : responses) {
      const bool alone = is_group(response) ? !rules_.fuse_groups : !rules_.fuse_tensors;
      for (Response& part : alike_parts(std::move(response))) {
        if (alone || !can_fuse(part)) {
          builder.open(std::move(part));
        } else {
          place(std::move(part), builder, open);
        }
      }
    }
    return builder.finish(first_id);
  }

 private:
  void place(Response part, PlanBuilder& builder, std::vector<std::size_t>& open) const {
    const auto it = std::find_if(open.begin(), open.end(), [&](std::size_t position) {
      return alike(builder.at(position).responses.front(), part);
    });
    if (it == open.end()) {
      open.push_back(builder.open(std::move(part)));
    } else if (fits(builder.at(*it).bytes, bytes_of(part))) {
      builder.append(*it, std::move(part));
    } else {
      *it = builder.open(std::move(part));
    }
  }
  bool fits(std::size_t filled, std::size_t more) const {
    return filled <= rules_.bytes_max && more <= rules_.bytes_max - filled;
  }

  std::string_view name_;
  Rules rules_;
};

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::size_t limit(const PlannerSettings& settings) {
  return static_cast<std::size_t>(std::max<std::int64_t>(settings.fusion_bytes, 0));
}
std::unique_ptr<Planner> make_threshold(const PlannerSettings& settings) {
  return std::make_unique<Filling>(
      "threshold", Filling::Rules{limit(settings), true, settings.fuse_groups});
}
std::unique_ptr<Planner> make_wfbp(const PlannerSettings&) {
  return std::make_unique<Filling>("wfbp", Filling::Rules{0, false, false});
}
std::unique_ptr<Planner> make_single(const PlannerSettings& settings) {
  return std::make_unique<Filling>("single", Filling::Rules{kNoLimit, true, settings.fuse_groups});
}
std::unique_ptr<Planner> make_groups(const PlannerSettings& settings) {
  return std::make_unique<Filling>(
      "groups", Filling::Rules{limit(settings), false, settings.fuse_groups});
}

constexpr std::array kPlanners = {
    registry_row(kPlannerChoices, "threshold", make_threshold),
    registry_row(kPlannerChoices, "wfbp", make_wfbp),
    registry_row(kPlannerChoices, "single", make_single),
    registry_row(kPlannerChoices, "groups", make_groups),
};

}  // namespace

std::span<const PlannerRow> planner_table() { return kPlanners; }

std::unique_ptr<Planner> make_planner(std::string_view name, PlannerSettings settings) {
  if (const PlannerRow* row = find_row(kPlanners, name)) return row->make(settings);
  const IterationRow* whole = find_row(iteration_table(), name);
  if (whole == nullptr) return nullptr;
  return std::make_unique<Filling>(
      whole->name, Filling::Rules{limit(settings), true, settings.fuse_groups});
}

}  // namespace unisono::plan
