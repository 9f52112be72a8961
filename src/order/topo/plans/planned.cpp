// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/plans/planned.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::order {

PlannedRun::PlannedRun(const Plans& plans, int me, std::uint64_t first_sequence, TopoTimes times,
                       Time now)
    : slots_(plans, me), first_sequence_(first_sequence), times_(times),
      outdated_(plans.size(), false), active_at_(now) {}

void PlannedRun::submit(Request request, Time now) {
  active_at_ = now;
  ++turn_;
  // What is submitted after a join is for after the join, planned or not.
  joining_ |= request.kind == Collective::join;
  if (joining_ || !slots_.fill(request, turn_, now)) extras_.emplace_back(turn_, std::move(request));
}

void PlannedRun::nudged(std::uint64_t position) { nudge_ = std::max(nudge_, position + 1); }

Time PlannedRun::stop_at() const {
  if (member_left_) return Time{0};
  if (hurried()) return slots_.filled() == 0 ? Time{0} : active_at_ + times_.grace;
  return something_waits() ? active_at_ + times_.patience : kNever;
}

Time PlannedRun::deadline() const {
  if (stopped_at_) return kNever;
  return slots_.next_full() ? Time{0} : stop_at();
}

void PlannedRun::negotiate(Time now, std::vector<Response>& responses) {
  while (!stopped_at_) {
    if (slots_.next_full()) {
      give_out(vote_of_full(), responses);
      active_at_ = now;
    } else if (now >= stop_at()) {
      if (!member_left_ && !hurried()) lose_patience();
      give_out(PlanVote::abort, responses);
    } else {
      return;
    }
  }
}

// Iterations are watched from a response that follows the end of one.
PlanVote PlannedRun::vote_of_full() const {
  const bool replan = slots_.next_is_last() && outdated_[slots_.next_place()->plan];
  if (replan) return PlanVote::run_then_replan;
  return extras_.empty() ? PlanVote::run : PlanVote::run_then_stop;
}

void PlannedRun::lose_patience() {
  impatient_ = slots_.filled() == 0;
  const Request* missing = slots_.first_missing();
  missed_ = missing != nullptr ? cat("'", missing->name, "' was not submitted in time")
                               : std::string("no iteration was begun in time");
}

void PlannedRun::give_out(PlanVote vote, std::vector<Response>& responses) {
  const std::uint64_t position = slots_.next();
  const bool chooses = slots_.between_iterations() && slots_.plans() > 1;
  const PlanSlots::Place place = slots_.give_out();
  responses.push_back(response_at(position, place, vote));
  if (chooses) responses.back().choice = slots_.plan(place.plan).hash() | 1;
  if (vote != PlanVote::run) {
    drifted_ |= vote == PlanVote::run_then_replan;
    stopped_at_ = position;
    return close(first_sequence_ + position, responses);
  }
  if (!drifts_.empty() && drifts_[place.plan] != nullptr && !outdated_[place.plan] &&
      slots_.between_iterations()) {
    outdated_[place.plan] = drifts_[place.plan]->passed(slots_.submitted(place.plan));
  }
}

Response PlannedRun::response_at(std::uint64_t position, PlanSlots::Place place,
                                 PlanVote vote) const {
  const TopoPlan& plan = slots_.plan(place.plan);
  Response response;
  response.sequence = first_sequence_ + position;
  response.tensors = plan.bucket(place.bucket);
  const auto rows = plan.rows({static_cast<std::uint32_t>(place.bucket),
                               plan.first_slot(place.bucket)});
  if (!rows.empty()) response.extents.emplace_back(rows.begin(), rows.end());
  response.set = response.tensors.front().set;
  response.planned = true;
  response.vote = vote;
  response.method = plan.method(place.bucket);
  return response;
}

void PlannedRun::close(std::uint64_t sequence, std::vector<Response>& responses) {
  if (std::exchange(closed_, true)) return;
  std::uint64_t position = sequence - first_sequence_;
  std::vector<std::uint32_t> met;
  for (const PlanSlots::Place place : slots_.reach(position)) {
    const std::uint64_t at = position++;
    const std::uint32_t channel = slots_.plan(place.plan).method(place.bucket).channel;
    if (std::find(met.begin(), met.end(), channel) != met.end()) continue;
    met.push_back(channel);
    if (at < slots_.next()) continue;       // given out as any other
    responses.push_back(response_at(at, place, PlanVote::abort));
    responses.back().closing = true;
  }
}

std::string PlannedRun::why_stopped() const {
  if (!extras_.empty()) return cat("'", extras_.front().second.name, "' is not in it");
  if (drifted_) return "another one promises to end sooner";
  if (member_left_) return "a rank left";
  if (!stopped_at_) return {};
  return missed_.empty() ? std::string("another rank ended it") : missed_;
}

bool PlannedRun::ended(std::uint64_t sequence, PlanVote vote, Time now) {
  UNISONO_CHECK(slots_.unended() > 0 && sequence == first_sequence_ + slots_.oldest());
  active_at_ = now;
  if (vote != PlanVote::abort) slots_.oldest_ended();
  return vote != PlanVote::run;
}

std::vector<Request> PlannedRun::in_order(Turned turned) {
  std::move(extras_.begin(), extras_.end(), std::back_inserter(turned));
  extras_.clear();
  std::sort(turned.begin(), turned.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Request> requests;
  for (auto& [turn, request] : turned) requests.push_back(std::move(request));
  return requests;
}

}  // namespace unisono::order
