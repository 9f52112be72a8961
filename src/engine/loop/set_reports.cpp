// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a set tells those who watch the engine.
#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "engine/loop/set_runner.hpp"

namespace unisono::engine {

// While steps are planned nothing changes but which of the plans ran, and that is not urgent.
void SetRunner::report_order(bool planned, Time now) {
  constexpr Nanos kReportEvery{100'000'000};
  if (parts_.id != 0 || parts_.shared->order_reports == nullptr) return;
  if (planned && reported_planned_ && now - reported_at_ < kReportEvery) return;
  order::OrderState state = parts_.order->state();
  reported_planned_ = state.planned;
  reported_at_ = now;
  std::vector<PlanReport> known;
  for (order::KnownPlan& plan : state.known) {
    known.push_back({std::move(plan.first), plan.tensors, plan.buckets, plan.iterations});
  }
  if (state.reason.empty()) state.reason = "this strategy negotiates every step";
  parts_.shared->order_reports->set({.strategy = std::string(parts_.order->name()),
                                     .planned = state.planned,
                                     .plans = state.plans,
                                     .plans_ended = state.plans_ended,
                                     .buckets = state.buckets,
                                     .reason = std::move(state.reason),
                                     .known = std::move(known)});
}

void SetRunner::log_order(const Response& response) {
  if (parts_.id != 0) return;               // the world's order is the one all ranks share
  std::uint64_t digest = observe::Counters::get(parts_.shared->counters->order_digest);
  digest = hash_text(cat(response.sequence, code_name(response.error.code())), digest);
  for (const Request& tensor : response.tensors) digest = hash_text(tensor.name, digest);
  observe::Counters::set(parts_.shared->counters->order_digest, digest);
}

}  // namespace unisono::engine
