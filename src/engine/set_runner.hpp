// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One process set at work: its order, its planner, and the bucket that is on its way.
// Sets run side by side; within a set buckets run one after the other in agreed order.
// Thread: the engine's driver.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/bucket_run.hpp"
#include "engine/pendings.hpp"
#include "observe/counters.hpp"
#include "order/order.hpp"
#include "plan/planner.hpp"

namespace unisono {

// What a set asks of the engine around it.
class SetHost {
 public:
  virtual ~SetHost() = default;
  virtual void post_order(SetId set, Rank to, std::span<const std::byte> message) = 0;
  virtual SetId open_set(const std::vector<Rank>& ranks) = 0;
  virtual void close_set(SetId set) = 0;
  // Gives the id under which the agreed operation is started from now on.
  virtual std::uint32_t open_persistent(const Members& members, const Response& response) = 0;
  virtual void release_name(const Request& request) = 0;
  // The job cannot go on; every set stops.
  virtual void fail_job(const Status& status) = 0;
  // The same status with host and process of the rank it blames.
  virtual Status name_peer(const Status& status) const = 0;
};

struct SetParts {
  SetId id = 0;
  Members members;
  std::unique_ptr<Order> order;
  std::unique_ptr<LocalTeam> team;          // null: members do not all share memory
  const Planner* planner = nullptr;
  const Options* options = nullptr;
  Transport* transport = nullptr;
  BufferPool* buffers = nullptr;
  Pendings* pendings = nullptr;
  Counters* counters = nullptr;
  SetHost* host = nullptr;
};

class SetRunner {
 public:
  explicit SetRunner(SetParts parts);

  const Members& members() const { return parts_.members; }
  void submit(Request request, Time now);
  Status receive(Rank from, std::span<const std::byte> message, Time now);
  void member_left(Rank rank, Time now);
  // Negotiates and moves what can be moved now; true when anything happened.
  bool advance(Time now);
  Time deadline() const { return negotiate_ ? Time{0} : parts_.order->deadline(); }
  // Whether the bucket on its way could advance: the last look before sleeping.
  bool ready() const { return active_ != nullptr && active_->ready(); }
  // No bucket agreed so far is unfinished.
  bool drained() const { return active_ == nullptr && queue_.empty(); }
  // Fails what runs and what is queued. Runs are handed out, to be kept until the transport is gone.
  std::unique_ptr<BucketRun> stop(const Status& status);

 private:
  bool negotiate(Time now);
  void log_order(const Response& response);
  bool start_next();
  bool run_at_once(const Bucket& bucket);
  void fail_tensors(const Response& response, const Status& status);
  void resolve_one(const Request& request, Status status, std::int64_t value);

  SetParts parts_;
  ReleaseName release_;
  bool negotiate_ = false;                  // something new for the order to look at
  std::uint64_t next_bucket_ = 0, next_move_ = 0;
  OrderOutput output_;
  std::deque<Bucket> queue_;
  std::unique_ptr<BucketRun> active_;
};

}  // namespace unisono
