// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/agree/stall_watch.hpp"

#include <algorithm>
#include <cmath>

#include "base/data/text.hpp"
#include "order/agree/rank_text.hpp"

namespace unisono::order {
namespace {

// A report tells the last activity of this many missing ranks; the rest are listed without it.
constexpr std::size_t kExcusesMax = 8;

std::string seconds_text(Nanos d) { return cat(std::round(nanos_to_seconds(d) * 10) / 10, " s"); }

bool has_unnamed(const Unit& unit) {
  return std::any_of(unit.tensors.begin(), unit.tensors.end(), [](const auto& tensor) {
    return tensor->canonical.name.find(".noname.") != std::string::npos;
  });
}

}  // namespace

StallWatch::StallWatch(const OrderSettings& settings, const Members& members)
    : settings_(settings), members_(members), last_heard_(members.ranks.size()) {}

void StallWatch::heard_from(int member, std::string_view name, Time at) {
  LastHeard& last = last_heard_[static_cast<std::size_t>(member)];
  if (name.empty() || (!last.name.empty() && at < last.at)) return;
  last.name = name;
  last.at = at;
}

void StallWatch::started(Unit& unit) {
  unit.earlier = false;
  const bool reported = unit.report_gap > settings_.stall_warning;
  if (!reported && settings_.stall_warning > Nanos(0)) {
    unit.report_gap = settings_.stall_warning;
    unit.next_report = unit.first + unit.report_gap;
  }
  if (inquires_ && !reported) {
    const Nanos patience =
        settings_.stall_warning > Nanos(0) ? settings_.stall_warning : settings_.stall_limit;
    if (patience > Nanos(0)) unit.next_inquiry = unit.first + patience / 2;
  }
  next_check_ = std::min(next_check_, due(unit));
}

Time StallWatch::due(const Unit& unit) const {
  const Time next = std::min(unit.next_report, unit.next_inquiry);
  if (settings_.stall_limit <= Nanos(0)) return next;
  return std::min(next, unit.first + settings_.stall_limit);
}

std::vector<std::pair<Unit*, Status>> StallWatch::check(Readiness& readiness,
                                                        const JoinState& joins, Time now,
                                                        std::vector<Stall>& reports,
                                                        std::vector<std::string>& inquiries) {
  std::vector<std::pair<Unit*, Status>> expired;
  if (now < next_check_) return expired;
  next_check_ = kNever;
  for (Unit& unit : readiness.units()) {
    if (unit.ready) continue;
    const Nanos waited = now - unit.first;
    if (settings_.stall_limit > Nanos(0) && waited >= settings_.stall_limit) {
      Stall stall = describe(unit, joins, now);
      const Rank culprit = stall.missing.empty() ? -1 : stall.missing.front();
      expired.emplace_back(&unit,
                           Status(Code::stalled,
                                  cat(stall.sentence,
                                      " Let every rank submit it, or join() the ranks that have "
                                      "no more data; stall_limit_s is how long they wait."),
                                  {.rank = culprit, .host = {}, .pid = 0, .tensor = stall.name}));
      reports.push_back(std::move(stall));
      continue;
    }
    if (now >= unit.next_report) {
      reports.push_back(describe(unit, joins, now));
      unit.report_gap *= 2;
      unit.next_report = now + unit.report_gap;
      if (inquires_) unit.next_inquiry = now + unit.report_gap / 2;
    } else if (now >= unit.next_inquiry) {
      unit.next_inquiry = kNever;
      for (const auto& tensor : unit.tensors) inquiries.push_back(tensor->canonical.name);
    }
    next_check_ = std::min(next_check_, due(unit));
  }
  return expired;
}

std::string StallWatch::excuse(int member, Time now) const {
  const LastHeard& last = last_heard_[static_cast<std::size_t>(member)];
  if (last.name.empty()) return "it has submitted nothing yet";
  return cat("last it submitted \"", last.name, "\" ", seconds_text(now - last.at), " ago");
}

Stall StallWatch::describe(const Unit& unit, const JoinState& joins, Time now) const {
  Stall stall{.name = std::string(unit.name()), .waited = now - unit.first,
              .submitted = {}, .missing = {}, .sentence = {}};
  std::vector<Rank> joined, others;
  std::vector<std::string> excuses;
  for (int i = 0; i < members_.count(); ++i) {
    const Rank rank = members_.rank_of(i);
    if (unit.arrived.test(i)) {
      stall.submitted.push_back(rank);
    } else if (joins.joined().test(i)) {
      joined.push_back(rank);
    } else {
      stall.missing.push_back(rank);
      if (excuses.size() < kExcusesMax) {
        excuses.push_back(cat("rank ", rank, " has not (", excuse(i, now), ")"));
      } else {
        others.push_back(rank);
      }
    }
  }
  const auto have = [](const std::vector<Rank>& ranks) {
    return cat(ranks_text(ranks), ranks.size() == 1 ? " has" : " have");
  };
  if (!others.empty()) excuses.push_back(cat(have(others), " not"));
  if (!joined.empty()) excuses.push_back(cat(have(joined), " joined"));
  const std::string size = unit.is_group() ? cat(" of ", unit.tensors.size(), " tensors") : "";
  stall.sentence = cat(unit.is_group() ? "Group \"" : "Tensor \"", stall.name, "\"", size,
                       " has waited ", seconds_text(stall.waited), ": ",
                       ranks_text(stall.submitted), " submitted it; ", join_text(excuses, ", "),
                       ".");
  if (has_unnamed(unit)) {
    stall.sentence += " Unnamed operations are matched by how many each rank has called: ranks "
                      "with unequal call counts never meet. Name the operation.";
  }
  return stall;
}

}  // namespace unisono::order
