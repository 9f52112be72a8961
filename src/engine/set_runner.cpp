// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/set_runner.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace unisono {

SetRunner::SetRunner(SetParts parts)
    : parts_(std::move(parts)),
      release_([host = parts_.host](const Request& request) { host->release_name(request); }) {}

void SetRunner::submit(Request request, Time now) {
  parts_.order->submit(std::move(request), now);
  negotiate_ = true;
}

Status SetRunner::receive(Rank from, std::span<const std::byte> message, Time now) {
  negotiate_ = true;
  return parts_.order->receive(from, message, now);
}

void SetRunner::member_left(Rank rank, Time now) {
  parts_.order->member_left(rank, now);
  negotiate_ = true;
}

bool SetRunner::advance(Time now) {
  bool worked = negotiate(now);
  for (const auto& lane : parts_.lanes) worked |= advance(*lane, now);
  return worked;
}

bool SetRunner::advance(Lane& lane, Time now) {
  bool worked = false;
  while (lane.run != nullptr || start_next(lane, now)) {
    if (lane.run == nullptr) {              // done at once
      worked = true;
      continue;
    }
    const Step step = lane.step();
    if (!lane.lent && !lane.run->trouble().ok()) {
      parts_.host->fail_job(lane.run->trouble());
      return true;
    }
    if (step == Step::waiting) return worked;
    worked = true;
    if (step == Step::advanced) return worked;
    end_run(lane, now);
  }
  return worked;
}

void SetRunner::end_run(Lane& lane, Time now) {
  const std::unique_ptr<BucketRun> run = std::move(lane.run);
  const Stance stance = run->stance();
  if (stance != Stance::unwilling) {
    Counters::add(parts_.counters->operations, run->tensor_count());
    run->complete(release_);
  } else {
    // What is in the bucket, and what was planned to follow it, will be negotiated instead.
    for (Pending& pending : run->give_back()) parts_.pendings->add(std::move(pending));
    for (const auto& each : parts_.lanes) {
      std::erase_if(each->queue, [](const Bucket& b) { return b.responses.front().planned; });
    }
  }
  ended(run->bucket(), stance, now);
}

// Tells the order in the order of sequences, whatever lane was faster.
void SetRunner::ended(const Bucket& bucket, Stance stance, Time now) {
  if (stance == Stance::unwilling) {
    const std::uint64_t first = bucket.responses.front().sequence;
    while (!unended_.empty() && unended_.back().sequence >= first) unended_.pop_back();
    parts_.order->ended(first, stance, now);
    negotiate_ = true;
    return;
  }
  for (const Response& response : bucket.responses) {
    Unended& entry = unended_[response.sequence - unended_.front().sequence];
    entry.stance = std::max(entry.stance, stance);
    --entry.parts;
  }
  while (!unended_.empty() && unended_.front().parts == 0) {
    parts_.order->ended(unended_.front().sequence, unended_.front().stance, now);
    if (unended_.front().stance != Stance::willing) negotiate_ = true;
    unended_.pop_front();
  }
}

bool SetRunner::ready() const {
  return std::any_of(parts_.lanes.begin(), parts_.lanes.end(),
                     [](const auto& lane) { return lane->ready(); });
}

bool SetRunner::drained() const {
  return std::all_of(parts_.lanes.begin(), parts_.lanes.end(),
                     [](const auto& lane) { return lane->drained(); });
}

bool SetRunner::negotiate(Time now) {
  if (!negotiate_ && now < parts_.order->deadline()) return false;
  negotiate_ = false;
  output_.messages.clear();
  output_.responses.clear();
  output_.stalls.clear();
  parts_.order->negotiate(now, output_);
  for (const OrderMessage& message : output_.messages) {
    parts_.host->post_order(parts_.id, message.to, message.bytes);
  }
  for (const Stall& stall : output_.stalls) log_line(LogLevel::warn, stall.sentence);
  if (output_.responses.empty()) return !output_.messages.empty();

  Counters::add(parts_.counters->cycles);
  for (const Response& response : output_.responses) log_order(response);
  Plan plan = parts_.planner->plan(std::move(output_.responses), next_bucket_);
  next_bucket_ += plan.buckets.size();
  enqueue(std::move(plan));
  return true;
}

void SetRunner::enqueue(Plan plan) {
  for (Bucket& bucket : plan.buckets) {
    for (const Response& response : bucket.responses) {
      auto at = std::find_if(unended_.rbegin(), unended_.rend(), [&](const Unended& entry) {
        return entry.sequence <= response.sequence;
      });
      if (at != unended_.rend() && at->sequence == response.sequence) {
        ++at->parts;
      } else {
        unended_.insert(at.base(), {response.sequence, 1, Stance::willing});
      }
    }
    // Decisions give out ids, and planned buckets must not overtake each other's stance: all of
    // those share one lane.
    const Response& first = bucket.responses.front();
    const bool anywhere = !first.planned && first.error.ok() &&
                          first.tensors.front().kind <= Collective::barrier;
    const std::size_t lane = anywhere ? bucket.id % parts_.lanes.size() : 0;
    parts_.lanes[lane]->queue.push_back(std::move(bucket));
  }
}

void SetRunner::log_order(const Response& response) {
  if (parts_.id != 0) return;               // the world's order is the one all ranks share
  std::uint64_t digest = Counters::get(parts_.counters->order_digest);
  digest = hash_text(cat(response.sequence, code_name(response.error.code())), digest);
  for (const Request& tensor : response.tensors) digest = hash_text(tensor.name, digest);
  Counters::set(parts_.counters->order_digest, digest);
}

bool SetRunner::start_next(Lane& lane, Time now) {
  if (lane.queue.empty()) return false;
  Bucket bucket = std::move(lane.queue.front());
  lane.queue.pop_front();
  if (run_at_once(bucket)) {
    ended(bucket, Stance::willing, now);
    return true;
  }

  std::vector<Pending> pendings;
  for (const Response& response : bucket.responses) {
    // A rank that has joined takes part with the neutral element, even when a request of the same
    // name waits here already: that one is for after the join.
    const bool absent = std::find(response.absent.begin(), response.absent.end(),
                                  static_cast<std::uint32_t>(parts_.members.me)) !=
                            response.absent.end() ||
                        response.stance == Stance::unwilling;
    for (const Request& tensor : response.tensors) {
      pendings.push_back(absent ? Pending{} : parts_.pendings->take(parts_.id, tensor.name));
      if (pendings.back().ticket == nullptr && !absent) {
        parts_.host->fail_job(Status(
            Code::internal, cat("the ranks agreed on '", tensor.name,
                                "', which this rank never submitted")));
        return false;
      }
    }
  }
  Counters::add(parts_.counters->buckets);
  lane.run = std::make_unique<BucketRun>(
      std::move(bucket), std::move(pendings),
      RunContext{parts_.transport, &parts_.members, lane.team.get(), parts_.buffers,
                 parts_.options, &lane.next_move, parts_.lanes.size()});
  if (auto status = lane.run->start(); !status) {
    parts_.host->fail_job(status);
    return false;
  }
  return true;
}

// Decisions that move no data. True when the bucket was one of them.
bool SetRunner::run_at_once(const Bucket& bucket) {
  const Response& first = bucket.responses.front();
  if (!first.error.ok()) {
    for (const Response& response : bucket.responses) {
      fail_tensors(response, parts_.host->name_peer(response.error));
    }
    return true;
  }
  const Request& request = first.tensors.front();
  switch (request.kind) {
    case Collective::join:
      for (const Request& join : first.tensors) resolve_one(join, {}, first.value);
      return true;
    case Collective::add_process_set:
      resolve_one(request, {}, parts_.host->open_set(request.members));
      return true;
    case Collective::prepare:
      resolve_one(request, {}, parts_.host->open_persistent(parts_.members, first));
      return true;
    case Collective::remove_process_set:
      parts_.host->close_set(static_cast<SetId>(request.members.front()));
      resolve_one(request, {}, -1);
      return true;
    default:
      return false;
  }
}

void SetRunner::resolve_one(const Request& request, Status status, std::int64_t value) {
  Pending pending = parts_.pendings->take(parts_.id, request.name);
  if (pending.ticket == nullptr) return;
  pending.ticket->value = value;
  Counters::add(status.ok() ? parts_.counters->operations : parts_.counters->operations_failed);
  resolve(pending, std::move(status), release_);
}

void SetRunner::fail_tensors(const Response& response, const Status& status) {
  for (const Request& tensor : response.tensors) resolve_one(tensor, status, -1);
}

std::vector<std::unique_ptr<BucketRun>> SetRunner::stop(const Status& status) {
  std::vector<std::unique_ptr<BucketRun>> runs;
  for (const auto& lane : parts_.lanes) {
    lane->queue.clear();
    if (lane->run == nullptr) continue;
    if (lane->lent) lane->mover->finish_step();
    lane->lent = false;
    Counters::add(parts_.counters->operations_failed, lane->run->tensor_count());
    lane->run->fail(status, release_);
    runs.push_back(std::move(lane->run));
  }
  unended_.clear();
  return runs;
}

}  // namespace unisono
