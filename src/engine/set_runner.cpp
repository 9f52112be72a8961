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
  while (active_ != nullptr || start_next()) {
    if (active_ == nullptr) {               // done at once
      worked = true;
      continue;
    }
    const Step step = active_->step();
    if (!active_->trouble().ok()) {
      parts_.host->fail_job(active_->trouble());
      return true;
    }
    if (step == Step::waiting) return worked;
    worked = true;
    if (step == Step::advanced) return worked;
    Counters::add(parts_.counters->operations, active_->tensor_count());
    active_->complete(release_);
    active_.reset();
  }
  return worked;
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
  for (Bucket& bucket : plan.buckets) queue_.push_back(std::move(bucket));
  return true;
}

void SetRunner::log_order(const Response& response) {
  if (parts_.id != 0) return;               // the world's order is the one all ranks share
  std::uint64_t digest = Counters::get(parts_.counters->order_digest);
  digest = hash_text(cat(response.sequence, code_name(response.error.code())), digest);
  for (const Request& tensor : response.tensors) digest = hash_text(tensor.name, digest);
  Counters::set(parts_.counters->order_digest, digest);
}

bool SetRunner::start_next() {
  if (queue_.empty()) return false;
  Bucket bucket = std::move(queue_.front());
  queue_.pop_front();
  if (run_at_once(bucket)) return true;

  std::vector<Pending> pendings;
  for (const Response& response : bucket.responses) {
    // A rank that has joined takes part with the neutral element, even when a request of the same
    // name waits here already: that one is for after the join.
    const bool absent = std::find(response.absent.begin(), response.absent.end(),
                                  static_cast<std::uint32_t>(parts_.members.me)) !=
                        response.absent.end();
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
  active_ = std::make_unique<BucketRun>(
      std::move(bucket), std::move(pendings),
      RunContext{parts_.transport, &parts_.members, parts_.team.get(), parts_.buffers,
                 parts_.options, &next_move_});
  if (auto status = active_->start(); !status) {
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

std::unique_ptr<BucketRun> SetRunner::stop(const Status& status) {
  queue_.clear();
  if (active_ != nullptr) {
    Counters::add(parts_.counters->operations_failed, active_->tensor_count());
    active_->fail(status, release_);
  }
  return std::move(active_);
}

}  // namespace unisono
