// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/set_runner.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/data/text.hpp"
#include "base/waiting.hpp"
#include "plan/parts.hpp"
#include "run/make_run.hpp"

namespace unisono::engine {
SetRunner::SetRunner(SetParts parts)
    : parts_(std::move(parts)),
      release_([host = parts_.host](const Request& request) { host->release_name(request); }) {
  if (parts_.shared->network == nullptr) return;
  for (std::size_t i = 0; i < parts_.channels.size(); ++i) {
    run::Channel& channel = *parts_.channels[i];
    channel.selector = std::make_unique<run::Selector>(run::SelectorParts{
        parts_.shared->options, parts_.shared->network, &parts_.members, channel.host.get(),
        parts_.shared->remembered, parts_.shared->explanations, parts_.id, static_cast<int>(i)});
  }
  const run::Channel& first = *parts_.channels.front();
  if (first.team == nullptr) parts_.costs->selector = first.selector.get();
}

void SetRunner::submit(Request request, Time now) {
  parts_.order->submit(std::move(request), now);
  negotiate_ = true;
}

Status SetRunner::receive(Rank from, std::span<const std::byte> message, Time now) {
  negotiate_ = true;
  return parts_.order->receive(from, message, now);
}

void SetRunner::member_wants_to_leave(Rank rank, Time now) {
  parts_.order->member_left(rank, now);
  negotiate_ = true;
}

void SetRunner::leave(Time now) {
  parts_.order->leave(now);
  negotiate_ = true;
}

void SetRunner::member_left(Rank rank, Time now) {
  someone_left_ = true;
  for (const auto& channel : parts_.channels) {
    if (channel->run != nullptr) cancel_if_leaver_absent(*channel, now);
  }
  parts_.order->member_left(rank, now);
  negotiate_ = true;
}

// Nobody asked the member that left whether it would take part in a planned bucket. Where the
// counters show that it has not, the bucket ends as if it had said so. Returns whether it ended.
bool SetRunner::cancel_if_leaver_absent(run::Channel& channel, Time now) {
  if (!someone_left_ || !channel.run->planned() || !channel.run->local()) return false;
  if (channel.run->settled()) return false;  // it has said that it takes part
  // The run may finish right here, and then the channel finds out by itself. A finished machine
  // must not be stepped again, since the others already reuse what it reads.
  if (channel.lent) channel.mover->finish_step();
  if (channel.run->joined()) return false;
  channel.lent = false;
  channel.run->cancel();
  end_run(channel, now);
  return true;
}

bool SetRunner::advance(Time now, std::size_t max_bytes) {
  // A set that speaks again so soon is in the middle of a burst: the engine thread, woken for it,
  // says the rest of it at once.
  const bool burst = max_bytes != SIZE_MAX && now - spoke_ < kBurst;
  // An order that is due by the clock alone may have lost patience only because this thread came
  // late, so what has arrived meanwhile counts first.
  const bool by_clock = !negotiate_ && now >= parts_.order->deadline();
  bool worked = by_clock && advance_channels(now, max_bytes);
  if (stopped_) return worked;
  worked |= !burst && negotiate(now);
  return advance_channels(now, max_bytes) || worked;
}

bool SetRunner::advance_channels(Time now, std::size_t max_bytes) {
  bool worked = false;
  for (const auto& channel : parts_.channels) worked |= advance(*channel, now, max_bytes);
  if (!failures_.empty() && !gate_.behind(parts_.channels)) fail_agreed();
  return worked;
}

bool SetRunner::advance(run::Channel& channel, Time now, std::size_t max_bytes) {
  bool worked = false;
  while (!stopped_ && !channel.drained() && channel.next_bytes() <= max_bytes &&
         (channel.run != nullptr || start_next(channel, now))) {
    if (channel.run == nullptr ||
        (channel.joined == kNever && cancel_if_leaver_absent(channel, now))) {
      worked = true;                        // done at once
      continue;
    }
    const move::Step step = channel.step();
    if (channel.joined == kNever && !channel.lent && channel.run->joined()) {
      channel.joined = parts_.shared->clock->now();
    }
    if (!channel.lent && !channel.run->trouble().ok()) {
      parts_.host->fail_job(channel.run->trouble());
      return true;
    }
    if (step == move::Step::waiting) return worked;
    worked = true;
    if (step == move::Step::advanced) return worked;
    end_run(channel, now);
  }
  return worked;
}

void SetRunner::end_run(run::Channel& channel, Time now) {
  const std::unique_ptr<run::BucketRun> run = std::move(channel.run);
  const PlanVote vote = run->vote();
  run::Channel* next = run->is_ballot() && vote != PlanVote::abort ? &channel : nullptr;
  if (run->is_ballot() && run->bucket().responses.front().choice != 0) {
    next = gate_.chosen(run->bucket(), vote, parts_.channels);
  }
  if (next != nullptr) {
    std::vector<Pending> pendings = run->give_back();
    start_run(*next, run->give_up_bucket(), std::move(pendings), vote);
    return;
  }
  finish(channel, *run);
  if (vote != PlanVote::run) gate_.close(channel, run->bucket(), parts_.channels);
  ended(run->bucket(), vote, now);
}

// Hands out the results of a run that has finished, or takes back what it did not touch.
void SetRunner::finish(const run::Channel& channel, run::BucketRun& run) {
  if (run.vote() == PlanVote::abort) {
    for (Pending& pending : run.give_back()) parts_.shared->pendings->add(std::move(pending));
    return;
  }
  observe::Counters::add(parts_.shared->counters->operations, run.tensor_count());
  if (run.planned()) log_ran(run.bucket().responses.front());
  complete(channel, run);
}

// Tells the order in the order of sequences, whichever channel was faster.
void SetRunner::ended(const Bucket& bucket, PlanVote vote, Time now) {
  negotiate_ |= vote != PlanVote::run;
  // The order knows the end of a plan, and what it gives out now has the same sequences.
  if (bucket.epoch != gate_.epoch() || bucket.responses.front().closing) return;
  for (const Response& response : bucket.responses) {
    for (Unended& entry : unended_) {
      if (entry.sequence != response.sequence) continue;
      entry.vote = std::max(entry.vote, vote);
      --entry.parts;
      break;
    }
  }
  tell_ended(now);
}

void SetRunner::tell_ended(Time now) {
  while (!unended_.empty() && unended_.front().parts == 0) {
    const Unended front = unended_.front();
    unended_.pop_front();
    parts_.order->ended(front.sequence, front.vote, now);
    if (front.vote == PlanVote::run) continue;
    // Members had planned different lengths ahead, so the count of buckets goes on from the one
    // they all ended.
    next_bucket_ = front.bucket + 1;
    unended_.clear();
    plan_over_ = true;
    negotiate_ = true;
    report_order(false, now);
  }
}

bool SetRunner::ready() const {
  return std::any_of(parts_.channels.begin(), parts_.channels.end(), [&](const auto& channel) {
    return channel->ready() &&
           (channel->run != nullptr || run::PlanGate::may_begin(*channel, parts_.channels));
  });
}

std::size_t SetRunner::under_way() const {
  return static_cast<std::size_t>(
      std::count_if(parts_.channels.begin(), parts_.channels.end(),
                    [](const auto& channel) { return channel->run != nullptr; }));
}

bool SetRunner::in_plan() const {
  return std::any_of(parts_.channels.begin(), parts_.channels.end(), [](const auto& channel) {
    return channel->run != nullptr && channel->run->planned();
  });
}

bool SetRunner::drained() const {
  return std::all_of(parts_.channels.begin(), parts_.channels.end(),
                     [](const auto& channel) { return channel->drained(); });
}

bool SetRunner::negotiate(Time now) {
  if (!negotiate_ && now < parts_.order->deadline()) return false;
  negotiate_ = false;
  output_.messages.clear();
  output_.responses.clear();
  output_.stalls.clear();
  parts_.order->negotiate(now, output_);
  if (parts_.id == 0) {
    const order::OrderCounts counts = parts_.order->counts();
    observe::Counters::set(parts_.shared->counters->cache_hits, counts.cache_hits);
    observe::Counters::set(parts_.shared->counters->cache_misses, counts.cache_misses);
  }
  for (const order::OrderMessage& message : output_.messages) {
    parts_.host->post_order(parts_.id, message.to, message.bytes);
  }
  if (!output_.messages.empty()) spoke_ = now;
  for (const order::Stall& stall : output_.stalls) log_line(LogLevel::warn, stall.sentence);
  // What closes channels comes first, and concerns no tensor of this rank.
  std::size_t closing = 0;
  for (; closing < output_.responses.size() && output_.responses[closing].closing; ++closing) {
    enqueue({std::move(output_.responses[closing])});
  }
  output_.responses.erase(output_.responses.begin(),
                          output_.responses.begin() + static_cast<std::ptrdiff_t>(closing));
  if (output_.responses.empty()) return closing > 0 || !output_.messages.empty();

  if (std::exchange(plan_over_, false)) gate_.next_epoch();
  report_order(output_.responses.front().planned, now);
  observe::Counters::add(parts_.shared->counters->cycles);
  for (const Response& response : output_.responses) {
    if (response.closing) continue;
    // A planned response counts once it has run: until then it may be taken back.
    const std::uint64_t digest = digest_of(response);
    if (!response.planned) {
      ++negotiated_;
      log_order(digest);
    }
    for (const Request& tensor : response.tensors) {
      parts_.shared->pendings->agreed(parts_.id, tensor.name, now);
    }
    unended_.push_back({.sequence = response.sequence, .parts = 0, .vote = PlanVote::run,
                        .digest = digest, .planned = response.planned});
    if (!response.error.ok()) failures_.push_back(response);
  }
  // At once, so that the names are free to be submitted again.
  if (!failures_.empty() && !gate_.behind(parts_.channels)) fail_agreed();
  parts_.shared->timings->add_round(now);
  // Members come to planned responses at different times, so each travels as it was planned; what
  // was negotiated came to all in the same rounds.
  if (output_.responses.front().planned) {
    for (Response& response : output_.responses) enqueue({std::move(response)});
  } else {
    enqueue(std::move(output_.responses));
  }
  tell_ended(now);                          // of failures that concern nobody here
  return true;
}

void SetRunner::enqueue(std::vector<Response> responses) {
  std::erase_if(responses, [](const Response& response) { return !response.error.ok(); });
  plan::PlanBuilder whole;                  // what was planned is a bucket already
  const bool planned = !responses.empty() && responses.front().planned;
  if (planned) whole.open(std::move(responses.front()));
  Plan plan = planned ? whole.finish(next_bucket_)
                      : parts_.shared->planner->plan(std::move(responses), next_bucket_);
  for (Bucket& bucket : plan.buckets) {
    bucket.identity = identity_of(bucket);
    const Response& first = bucket.responses.front();
    next_bucket_ += first.closing ? 0 : 1;
    for (const Response& response : bucket.responses) {
      if (response.closing) continue;
      const auto entry = std::find_if(unended_.rbegin(), unended_.rend(), [&](const auto& each) {
        return each.sequence == response.sequence;
      });
      ++entry->parts;
      entry->bucket = bucket.id;
    }
    gate_.enqueue(std::move(bucket), parts_.channels);
  }
}

bool SetRunner::start_next(run::Channel& channel, Time now) {
  if (channel.queue.empty() || !run::PlanGate::may_begin(channel, parts_.channels)) return false;
  Bucket bucket = std::move(channel.queue.front());
  channel.queue.pop_front();
  if (run_at_once(bucket)) {
    ended(bucket, PlanVote::run, now);
    return true;
  }

  const bool watched = parts_.order->watches();
  std::vector<Pending> pendings;
  for (const Response& response : bucket.responses) {
    // A rank that has joined takes part with the neutral element, even when a request of the same
    // name waits here already: that one is for after the join.
    const bool absent = std::find(response.absent.begin(), response.absent.end(),
                                  static_cast<std::uint32_t>(parts_.members.me)) !=
                            response.absent.end() ||
                        response.vote == PlanVote::abort;
    for (const Request& tensor : response.tensors) {
      pendings.push_back(absent ? Pending{}
                                : parts_.shared->pendings->take(parts_.id, tensor.name));
      if (pendings.back().ticket == nullptr && !absent) {
        parts_.host->fail_job(Status(
            Code::internal, cat("the ranks agreed on '", tensor.name,
                                "', which this rank never submitted")));
        return false;
      }
      if (watched && !absent) pendings.back().ticket->watch = {parts_.id, response.sequence};
    }
  }
  observe::count_bucket(*parts_.shared->counters, bucket.bytes);
  return start_run(channel, std::move(bucket), std::move(pendings), {});
}

bool SetRunner::start_run(run::Channel& channel, Bucket bucket, std::vector<Pending> pendings,
                          std::optional<PlanVote> settled) {
  channel.begun = parts_.shared->clock->now();
  channel.joined = kNever;
  channel.run = run::make_run(
      std::move(bucket), std::move(pendings),
      run::RunContext{parts_.shared->transport, &parts_.members, channel.team.get(),
                      channel.host.get(), parts_.shared->buffers, parts_.shared->options,
                      &channel.next_move, parts_.channels.size(), run::kSetMoves,
                      channel.selector.get(), parts_.shared->clock, parts_.shared->codecs,
                      parts_.shared->network, &topk_, parts_.shared->explanations},
      settled);
  if (auto status = channel.run->start(); !status) {
    parts_.host->fail_job(status);
    return false;
  }
  channel.packed = parts_.shared->clock->now();
  observe::keep_most(parts_.shared->counters->buckets_at_once, under_way());
  observe::Counters::set(parts_.shared->counters->buffers_allocated,
                         parts_.shared->buffers->allocations());
  return true;
}

std::vector<std::unique_ptr<run::BucketRun>> SetRunner::stop(const Status& status) {
  stopped_ = true;
  std::vector<std::unique_ptr<run::BucketRun>> runs;
  runs.reserve(parts_.channels.size());     // so that no run is lost when memory runs out later
  for (const auto& channel : parts_.channels) {
    channel->queue.clear();
    if (channel->run == nullptr) continue;
    if (channel->lent) channel->mover->finish_step();
    const bool finished = channel->lent && channel->mover->result() == move::Step::finished;
    channel->lent = false;
    if (finished && !channel->run->is_ballot()) {
      finish(*channel, *channel->run);
      channel->run.reset();
      continue;
    }
    observe::Counters::add(parts_.shared->counters->operations_failed,
                           channel->run->tensor_count());
    channel->run->fail(status, release_);
    runs.push_back(std::move(channel->run));
  }
  unended_.clear();
  return runs;
}

}  // namespace unisono::engine
