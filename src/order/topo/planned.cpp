// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/planned.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "base/data/text.hpp"

namespace unisono::order {

PlannedRun::PlannedRun(std::shared_ptr<const TopoPlan> plan, std::uint64_t first_sequence,
                       TopoTimes times, Time now)
    : slots_(std::move(plan)), first_sequence_(first_sequence), times_(times), active_at_(now) {}

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
      // Iterations are watched from a response that follows the end of one.
      const bool plan_anew = drifted_ && slots_.next_is_last();
      give_out(extras_.empty() && !plan_anew ? PlanVote::run : PlanVote::run_then_stop, responses);
      active_at_ = now;
    } else if (now >= stop_at()) {
      impatient_ = !member_left_ && !hurried() && slots_.filled() == 0;
      if (!member_left_ && !hurried()) missed_ = slots_.first_missing().name;
      give_out(PlanVote::abort, responses);
    } else {
      return;
    }
  }
}

void PlannedRun::give_out(PlanVote vote, std::vector<Response>& responses) {
  const std::uint64_t position = slots_.next();
  slots_.give_out();
  responses.push_back(response_at(position, vote));
  if (vote != PlanVote::run) {
    stopped_at_ = position;
    close(first_sequence_ + position, responses);
  }
  if (vote == PlanVote::run && drift_ && !drifted_ && slots_.between_iterations()) {
    drifted_ = drift_->passed(slots_.submitted());
  }
}

Response PlannedRun::response_at(std::uint64_t position, PlanVote vote) const {
  const std::size_t bucket = position % slots_.plan().size();
  Response response;
  response.sequence = first_sequence_ + position;
  response.tensors = slots_.plan().bucket(bucket);
  response.set = response.tensors.front().set;
  response.planned = true;
  response.vote = vote;
  response.method = slots_.plan().method(bucket);
  return response;
}

void PlannedRun::close(std::uint64_t sequence, std::vector<Response>& responses) {
  if (std::exchange(closed_, true)) return;
  const TopoPlan& plan = slots_.plan();
  const std::uint64_t end = sequence - first_sequence_;
  std::vector<std::uint32_t> met;
  for (std::uint64_t position = end; position < end + plan.size(); ++position) {
    const std::uint32_t channel = plan.method(position % plan.size()).channel;
    if (std::find(met.begin(), met.end(), channel) != met.end()) continue;
    met.push_back(channel);
    if (position < slots_.next()) continue;   // given out as any other
    responses.push_back(response_at(position, PlanVote::abort));
    responses.back().closing = true;
  }
}

std::string PlannedRun::why_stopped() const {
  if (!extras_.empty()) return cat("'", extras_.front().second.name, "' is not in it");
  if (drifted_) return "another one promises to end sooner";
  if (member_left_) return "a rank left";
  if (!stopped_at_) return {};
  return missed_.empty() ? std::string("another rank ended it")
                         : cat("'", missed_, "' was not submitted in time");
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
