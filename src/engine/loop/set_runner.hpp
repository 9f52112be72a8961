// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One process set at work: its order, its planner, and the buckets that are on their way.
// Sets run side by side; within a channel of a set buckets run one after the other in agreed order.
// Thread: the engine's driver.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "run/channel.hpp"
#include "run/gate/plan_gate.hpp"
#include "engine/loop/plan_costs.hpp"
#include "engine/loop/shared_parts.hpp"
#include "observe/straggler.hpp"
#include "order/order.hpp"

namespace unisono::engine {

// What a set asks of the engine around it.
class SetHost {
 public:
  virtual ~SetHost() = default;
  virtual void post_order(SetId set, Rank to, std::span<const std::byte> message) = 0;
  virtual SetId open_set(const Response& response) = 0;
  virtual void close_set(SetId set) = 0;
  // Returns the ids under which the agreed operation is known here and among the members.
  virtual std::int64_t open_persistent(const Members& members, const Response& response) = 0;
  virtual void close_persistent(SetId set, std::uint32_t index) = 0;
  virtual void release_name(const Request& request) = 0;
  // The job cannot go on; every set stops.
  virtual void fail_job(const Status& status) = 0;
  // Returns the same status with host and process of the rank it blames. A rank that left a set
  // after other members had left is not to blame: then the first of them is.
  virtual Status name_peer(const Status& status, const Members& members) = 0;
};

struct SetParts {
  SetId id = 0;
  Members members;
  std::unique_ptr<order::Order> order;
  std::vector<std::unique_ptr<run::Channel>> channels;  // at least one; as many on all members
  std::shared_ptr<PlanCosts> costs;         // of the buckets, for its order
  const SharedParts* shared = nullptr;
  SetHost* host = nullptr;
};

// What the order said, as one number.
std::uint64_t digest_of(const Response& response);

class SetRunner {
 public:
  explicit SetRunner(SetParts parts);

  const Members& members() const { return parts_.members; }
  std::string_view strategy() const { return parts_.order->name(); }
  void submit(Request request, Time now);
  void observed(std::uint64_t sequence) { parts_.order->observed(sequence); }
  Status receive(Rank from, std::span<const std::byte> message, Time now);
  // From now on nothing is agreed on that needs the member; it still does what was agreed.
  void member_wants_to_leave(Rank rank, Time now);
  void member_left(Rank rank, Time now);
  // This rank is about to leave; once drained and not due, nobody waits for it in a planned bucket.
  void leave(Time now);
  // Negotiates and moves what can be moved now; returns whether anything happened. Channels whose
  // next bucket is larger than the given max are left alone.
  bool advance(Time now, std::size_t max_bytes);
  Time deadline() const { return negotiate_ ? Time{0} : parts_.order->deadline(); }
  bool blocking() const { return !stopped_ && parts_.order->blocking(); }
  // Whether a bucket on its way could advance: the last look before sleeping.
  bool ready() const;
  // Every bucket agreed so far is finished.
  bool drained() const;
  // Whether a planned bucket is on its way: one that nobody asked the members about.
  bool in_plan() const;
  // How many responses the order has negotiated and given out. Planned ones do not count: members
  // give out different lengths of a plan ahead.
  std::uint64_t negotiated() const { return negotiated_; }
  // How long tensors waited for the other members since the last call.
  observe::RankWait take_wait();
  // After stop(): the teams in them have yet to be closed by the other members.
  std::vector<std::unique_ptr<run::Channel>> give_channels() { return std::move(parts_.channels); }
  // Fails what runs and what is queued. Returns the runs, to be kept until the transport is gone.
  std::vector<std::unique_ptr<run::BucketRun>> stop(const Status& status);

 private:
  bool negotiate(Time now);
  void report_order(bool planned, Time now);
  void log_order(std::uint64_t response_digest);
  void log_ran(const Response& response);
  void enqueue(std::vector<Response> responses);
  bool advance_channels(Time now, std::size_t max_bytes);
  bool advance(run::Channel& channel, Time now, std::size_t max_bytes);
  bool start_next(run::Channel& channel, Time now);
  bool start_run(run::Channel& channel, Bucket bucket, std::vector<Pending> pendings,
                 std::optional<PlanVote> settled);
  bool run_at_once(const Bucket& bucket);
  bool refuse_administration(const Response& response);
  bool cancel_if_leaver_absent(run::Channel& channel, Time now);
  void end_run(run::Channel& channel, Time now);
  void finish(const run::Channel& channel, run::BucketRun& run);
  void complete(const run::Channel& channel, run::BucketRun& run);
  std::size_t under_way() const;
  void fail_agreed();
  void ended(const Bucket& bucket, PlanVote vote, Time now);
  void tell_ended(Time now);
  void fail_tensors(const Response& response, const Status& status);
  void resolve_one(const Request& request, Status status, std::int64_t value);

  SetParts parts_;
  submit::ReleaseName release_;
  bool someone_left_ = false;
  run::TopkMemories topk_;
  bool negotiate_ = false;                  // something new for the order to look at
  bool stopped_ = false;
  bool reported_planned_ = false;           // as the last report says
  Time reported_at_;
  bool plan_over_ = false;                  // and nothing has come since but what closes channels
  Time spoke_;                              // when it last had something to say to the others
  std::uint64_t next_bucket_ = 0, negotiated_ = 0;
  run::PlanGate gate_;
  std::uint64_t waits_ = 0;                 // tensors since the last take_wait()
  Nanos waited_{0};                         // all of them together
  order::OrderOutput output_;
  std::vector<Response> failures_;          // agreed on, while a plan before may hold the tensors
  // Responses that have not ended, in their order. A group that was cut ends with its last part.
  struct Unended {
    std::uint64_t sequence;
    std::size_t parts;
    PlanVote vote;
    std::uint64_t digest;                   // of what was planned, until it has run and is logged
    std::uint64_t bucket = 0;               // the last one of it
    bool planned = false, ran = false;
  };
  std::deque<Unended> unended_;
};

}  // namespace unisono::engine
