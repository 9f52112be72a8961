// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One member following the known plans: emits buckets as they fill, and knows when to stop.
//
//   what happens here                                  the next bucket goes out
//   its slots are full                                 run
//   ... and something came that is in no plan          run_then_stop, and nothing after it
//   ... and it is the last of an iteration whose       run_then_replan, and nothing after it
//       plan another one has become worth
//   slots stay open although it is high time           abort, and nothing after it
//
// Which plan an iteration follows is seen from what is submitted (plan_slots.hpp). Where there is a
// choice, the first bucket of an iteration says what was chosen, and the data plane makes it an
// abort when members have chosen differently.
// It is high time when nothing happened here for `patience` while something waits; with something
// unplanned or a nudge, when nothing happened for `grace`, or at once when no slot is filled; when
// a member left, at once. The plans are over when the strongest vote of all members for a bucket is
// not `run`: ended() learns it at the same position on every member.
//
// With several channels, buckets beyond that position may be on their way in the others. So whoever
// stops also gives out, with abort, the first bucket beyond it in each of the other channels; so
// does whoever learns of the end before it came so far. Then every channel ends with one bucket
// that all members take part in and that nobody's tensors are touched by. Where there is a choice,
// nobody begins an iteration before all are through with the one before, nor goes on before all
// have chosen (run/gate), so this concerns only the rest of the iteration after its first bucket.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "model/response.hpp"
#include "order/topo/learn/plan_drift.hpp"
#include "order/topo/plans/plan_slots.hpp"

namespace unisono::order {

struct TopoTimes {
  Nanos grace{2'000'000};
  Nanos patience{1'000'000'000};
};

class PlannedRun {
 public:
  PlannedRun(const Plans& plans, int me, std::uint64_t first_sequence, TopoTimes times, Time now);

  // Each ends the run once another plan has become worth it; parallel to the plans, null for none.
  // Before the first submission.
  void watch(std::vector<std::shared_ptr<PlanDrift>> drifts) {
    drifts_ = std::move(drifts);
    slots_.keep_times();
  }

  std::uint64_t first_sequence() const { return first_sequence_; }
  void submit(Request request, Time now);
  // Another member will not go beyond this position.
  void nudged(std::uint64_t position);
  void member_left() { member_left_ = true; }
  void negotiate(Time now, std::vector<Response>& responses);
  // The position beyond which this member will not go, once known; to be told to all.
  std::optional<std::uint64_t> stopped_at() const { return stopped_at_; }
  Time deadline() const;
  std::size_t waiting() const { return slots_.filled() + extras_.size(); }
  // The plans ended at this position: what this member still owes the channels it is behind in.
  void close(std::uint64_t sequence, std::vector<Response>& responses);
  // Returns whether the plans are over.
  bool ended(std::uint64_t sequence, PlanVote vote, Time now);

  // What has ended so far, and the plans.
  const PlanSlots& slots() const { return slots_; }
  // Whether this member ended it for another plan.
  bool drifted() const { return drifted_; }
  // What this member saw that ends the plans; empty while there is nothing.
  std::string why_stopped() const;

  // After the plans are over.
  std::uint64_t next_sequence() const { return first_sequence_ + slots_.oldest(); }
  // Patience ran out here although everything given out before went well: it was too short.
  bool was_impatient() const { return impatient_ && stopped_at_ == slots_.oldest(); }
  // What was submitted and did not run, in order of submission.
  std::vector<Request> drain() { return in_order(slots_.drain()); }
  // The same at any time, without what has been given out.
  std::vector<Request> release() { return in_order(slots_.drain_unanswered()); }

 private:
  using Turned = std::vector<std::pair<std::uint64_t, Request>>;
  bool something_waits() const { return slots_.filled() + slots_.unended() + extras_.size() > 0; }
  bool hurried() const { return !extras_.empty() || nudge_ > slots_.next(); }
  Time stop_at() const;
  PlanVote vote_of_full() const;
  void lose_patience();
  void give_out(PlanVote vote, std::vector<Response>& responses);
  Response response_at(std::uint64_t position, PlanSlots::Place place, PlanVote vote) const;
  std::vector<Request> in_order(Turned turned);

  PlanSlots slots_;
  std::uint64_t first_sequence_;
  TopoTimes times_;
  Turned extras_;                       // in no plan
  std::uint64_t turn_ = 0;
  std::uint64_t nudge_ = 0;             // positions below this are to be given out soon
  std::optional<std::uint64_t> stopped_at_;
  std::vector<std::shared_ptr<PlanDrift>> drifts_;
  std::vector<bool> outdated_;          // by plan: another one is worth the change
  bool drifted_ = false, closed_ = false;
  std::string missed_;                  // what did not come before patience ran out here
  bool joining_ = false, member_left_ = false, impatient_ = false;
  Time active_at_;                      // when something last happened here
};

}  // namespace unisono::order
