// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a set tells those who watch the engine.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "engine/loop/set_runner.hpp"
#include "stream/stream.hpp"

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
    known.push_back({std::move(plan.first), plan.tensors, plan.buckets, plan.iterations, {}});
    for (const order::KnownBucket& bucket : *plan.methods) {
      known.back().methods.push_back({bucket.first, bucket.tensors, bucket.bytes,
                                      bucket.method.channel, bucket.method.codec,
                                      bucket.method.algorithm, bucket.reason});
    }
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

std::uint64_t digest_of(const Response& response) {
  std::uint64_t digest = hash_text(cat(response.sequence, code_name(response.error.code())));
  for (const Request& tensor : response.tensors) digest = hash_text(tensor.name, digest);
  return digest;
}

void SetRunner::log_order(std::uint64_t response_digest) {
  if (parts_.id != 0) return;               // the world's order is the one all ranks share
  const std::array<std::uint64_t, 2> words{
      observe::Counters::get(parts_.shared->counters->order_digest), response_digest};
  observe::Counters::set(parts_.shared->counters->order_digest,
                         hash_bytes(std::as_bytes(std::span(words))));
}

// Buckets of a plan run in several channels; they are logged in the order all ranks share.
void SetRunner::log_ran(const Response& response) {
  for (Unended& entry : unended_) entry.ran |= entry.sequence == response.sequence;
  for (Unended& entry : unended_) {
    if (!entry.planned) continue;
    if (!entry.ran) return;
    if (entry.digest != 0) log_order(std::exchange(entry.digest, 0));
  }
}

// The stations of each tensor are those of the bucket, after its own.
static void note_tensors(observe::Timings& timings, SetId set, const run::BucketRun& run,
                         observe::Stations at) {
  observe::Timings::Batch batch(timings);
  for (std::size_t i = 0; i < run.tensor_count(); ++i) {
    const Request& request = *run.tensor(i).request;
    at.submitted = run.tensor(i).pending.submitted;
    at.agreed = run.tensor(i).pending.agreed;
    if (at.submitted == Time{}) continue;   // a rank that has joined
    batch.add(request.name, request.kind, request.bytes(), set, run.bucket().id, at);
  }
}

// Timings and counters come first, so that whoever a ticket wakes finds the operation in them.
namespace {

// A rank that has joined brings nothing, and an operation that was refused has no result.
void count_sparse(observe::Counters& counters, const Pending& pending) {
  if (pending.ticket == nullptr || pending.ticket->sparse == nullptr) return;
  observe::Counters::add(counters.sparse_operations);
  if (pending.ticket->algorithm == "dense") observe::Counters::add(counters.sparse_as_dense);
  if (pending.ticket->algorithm == "oktopk") observe::Counters::add(counters.sparse_lossy);
  observe::Counters::add(counters.sparse_elements, pending.sparse->nnz());
  observe::Counters::add(counters.sparse_result_elements, pending.ticket->sparse->nnz());
}

}  // namespace

void SetRunner::complete(const run::Channel& channel, run::BucketRun& run) {
  observe::Counters& counters = *parts_.shared->counters;
  const Time moved = parts_.shared->clock->now();
  const Time joined = channel.joined == kNever ? channel.packed : channel.joined;
  run.write_outputs();
  const Time done = parts_.shared->clock->now();
  const auto ns = [](Nanos d) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(d.count(), 0));
  };
  note_tensors(*parts_.shared->timings, parts_.id, run,
               {{}, {}, channel.begun, channel.packed, joined, moved, done});
  for (std::size_t i = 0; i < run.tensor_count(); ++i) {
    const Pending& pending = run.tensor(i).pending;
    if (pending.submitted == Time{}) continue;  // a rank that has joined
    observe::Counters::add(counters.negotiation_ns, ns(pending.agreed - pending.submitted));
    observe::Counters::add(counters.wait_tensors_ns, ns(channel.begun - pending.agreed));
    ++waits_;
    waited_ += joined - pending.submitted;
  }
  observe::Counters::add(counters.pack_ns, ns(channel.packed - channel.begun));
  observe::Counters::add(counters.wait_data_ns, ns(joined - channel.packed));
  observe::Counters::add(counters.move_ns, ns(moved - joined));
  observe::Counters::add(counters.unpack_ns, ns(done - moved));
  if (run.bucket().kind == Collective::allreduce) {
    parts_.costs->note(run.bucket(), channel.packed - channel.begun + (done - joined),
                       run::MoveTimes::sample_of(run.local(), run.planned() && !run.settled()));
  }
  if (traits_of(run.bucket().kind).sparse) count_sparse(counters, run.tensor(0).pending);
  run.resolve_tickets(release_);
}

observe::RankWait SetRunner::take_wait() {
  const observe::RankWait wait{
      waits_, waits_ == 0 ? Nanos(0) : waited_ / static_cast<std::int64_t>(waits_)};
  waits_ = 0;
  waited_ = Nanos(0);
  return wait;
}

}  // namespace unisono::engine
