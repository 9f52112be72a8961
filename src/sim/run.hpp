// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The loop of one simulated run. See simulation.hpp for what it promises.
//
//   event     actor   what happens
//   submit    rank    compute has made tensors: they go to the order; its thread is woken
//   arrival   rank    a control message is there: it goes to the order once the thread has time
//   engine    rank    the thread runs: negotiates, sends, gives out buckets, sets its timer
//   timer     rank    the order's deadline has passed and the thread has woken up: it runs
//   bucket    -       the running bucket ends on all ranks; the step ends with its last bucket
//   death     rank    it is gone;  lost  rank  the others learn of it
// Thread: the caller's.
#pragma once

#include <memory>
#include <vector>

#include "order/cache/store.hpp"
#include "order/messages/request_pool.hpp"
#include "sim/network/data_plane.hpp"
#include "sim/event_queue.hpp"
#include "sim/study/metrics.hpp"
#include "sim/simulation.hpp"
#include "sim/virtual_rank.hpp"
#include "sim/network/wires.hpp"

namespace unisono::sim {

class Run {
 public:
  Run(const SimSettings& settings, const Progress& progress);
  SimResult play();

 private:
  enum Kind : std::uint8_t { kSubmit, kArrival, kEngine, kTimer, kBucket, kDeath, kLost };

  void make_ranks();
  void make_requests();
  void begin_step(std::int64_t now);
  void handle(const Event& event);
  void submit(int rank, std::int64_t now);
  void arrival(const Event& event);
  void engine(int rank, std::int64_t now);
  void bucket(std::int64_t now);
  void tell_ended(const FlyingBucket& done, std::int64_t now);
  void tell_observed();
  void lost(int rank, std::int64_t now);
  void check_data_plane();

  void wake(int rank, std::int64_t now);
  void run_at(int rank, std::int64_t at);
  void note_spinning(VirtualRank& r, std::int64_t now);
  void note_round(int rank, VirtualRank& r, std::uint64_t before);
  void give_out(int rank, VirtualRank& r, std::int64_t now);
  std::int64_t lateness(int rank, VirtualRank& r, std::int64_t deadline);
  void set_timer(int rank, VirtualRank& r, std::int64_t now);
  void start_bucket(std::int64_t now);
  void fail(Status why) {
    if (failure_.ok()) failure_ = std::move(why);
  }
  std::uint32_t tensor_at(int rank, std::uint32_t position) const;
  std::int64_t window_end(const VirtualRank& r) const { return r.step_begin_ns + window_ns_; }
  void set_window(std::int64_t step_ns);
  void show(std::int64_t now);
  void fetch_ahead() const;

  const SimSettings settings_;          // with the rates of what its ranks stand for
  const Progress& progress_;
  const bool spinning_;                 // the pacing makes threads spin
  const bool plans_;                    // the order gives out responses that it planned
  const std::int64_t compute_ns_, slack_ns_;
  std::int64_t window_ns_ = 0;          // of the present step
  const int warm_up_;
  order::CachePool pool_;
  order::RequestPool requests_pool_;
  EventQueue events_;
  std::unique_ptr<plan::Planner> planner_;
  DataPlane channel_;
  Wires wires_;
  Metrics metrics_;
  std::vector<std::int64_t> ready_ns_;  // nominal, by tensor
  std::vector<Request> requests_;       // by tensor
  std::vector<VirtualRank> ranks_;
  std::vector<bool> overslept_;         // by entry of faults.oversleeps
  std::vector<Parcel> parcels_;
  order::OrderOutput out_;
  int computing_ = 0;                   // ranks that still compute in this step
  int tensors_left_ = 0;                // of this step
  int alive_ = 0, told_ = 0;            // told_: ranks whose order reported an error
  int dead_ = -1;                       // the dead rank that the others know of
  std::int64_t moved_ns_ = 0;           // when a step last ended
  std::uint64_t digest_ = 0;
  Status failure_;
  std::vector<std::uint64_t> unseen_;   // plans_: responses of this step that have ended
  std::vector<RoundSample> rounds_;
};

}  // namespace unisono::sim
