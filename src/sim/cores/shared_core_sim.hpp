// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The loop of a simulated run in which the ranks of a host share its cores, as on a laptop.
// Every rank has the two threads of the live engine. The application's thread submits, drives the
// order itself when no other thread does, and then waits. The engine's thread sleeps until it is
// rung. Both take turns with all others on the cores of their host (cores.hpp). The ranks move a
// bucket themselves: each joins it, and ends it when all have joined.
//   event     actor    what happens
//   turn      thread   a stretch of work ended: the next one, or another thread's turn
//   wake      thread   it was rung
//   arrival   rank     a control message is in its inbox
// Limits: only pacing event; no deaths. Thread: the caller's.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "order/cache/store.hpp"
#include "sim/network/data_plane.hpp"
#include "sim/cores/cores.hpp"
#include "sim/event_queue.hpp"
#include "sim/study/metrics.hpp"
#include "sim/simulation.hpp"
#include "sim/network/wires.hpp"

namespace unisono::sim {

class SharedCoreSim {
 public:
  SharedCoreSim(const SimSettings& settings, const Progress& progress);
  SimResult play();

 private:
  enum Kind : std::uint8_t { kTurn, kWake, kArrival };
  enum class Next : std::uint8_t { work, yield, sleep };
  enum class State : std::uint8_t { asleep, queued, running };

  struct Thread {
    State state = State::asleep;
    bool rung = false;                  // while it was running
    Next next = Next::work;             // what it does after the present stretch
    std::int64_t since_ns = 0;          // when it got its core
  };
  struct Member {
    std::unique_ptr<order::Order> order;
    std::vector<Parcel> inbox;
    std::vector<std::uint32_t> turns;   // tensors in the order of this step
    std::vector<bool> done;             // by tensor, in this step
    std::size_t submitted = 0, waited = 0;
    bool negotiate = false;             // there is something new for the order to look at
    std::int64_t driven_until_ns = 0;   // a thread drives the engine until then
    bool waits = false;                 // the application waits for its tensors, and drives
    std::int64_t spoke_ns = -1'000'000'000;
    std::int64_t quiet_since_ns = -1;   // since when the waiting application has seen no progress
    std::int64_t first_submit_ns = 0, agreed_ns = 0;
    std::uint64_t given = 0, joined = 0, ended = 0;  // buckets
    int steps = 0;
  };
  struct Moving {                       // a bucket
    std::vector<std::uint32_t> tensors;
    int joined = 0, ended = 0;
  };

  void make_members();
  void begin_step(int rank, std::int64_t now);
  void give_core(int thread, std::int64_t now);
  void turn(int thread, std::int64_t now);
  void ring(int thread, std::int64_t now);
  // Does one stretch of work: returns what it costs and sets what the thread does next.
  std::int64_t application(int rank, std::int64_t now);
  std::int64_t engine(int rank, std::int64_t now);
  // Runs the loop once on the thread that drives. light: called from a submission. Returns 0 when
  // there was nothing to do.
  std::int64_t pass(int rank, std::int64_t now, bool light);
  std::int64_t negotiate(int rank, std::int64_t now);
  std::int64_t move(int rank, std::int64_t now);
  bool has_work(const Member& m) const;
  bool driven(const Member& m, std::int64_t now) const {
    return m.waits || now < m.driven_until_ns;
  }
  void rank_done(int rank, std::int64_t now);
  Thread& application_of(int rank) { return threads_[static_cast<std::size_t>(2 * rank)]; }
  Cores& cores_of(int thread) {
    return cores_[static_cast<std::size_t>(thread / 2 / settings_.host.ranks_per_host)];
  }

  const SimSettings& settings_;
  const Progress& progress_;
  const int warm_up_;
  order::CachePool pool_;
  EventQueue events_;
  std::unique_ptr<plan::Planner> planner_;
  Wires wires_;
  Metrics metrics_;
  std::vector<Request> requests_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::vector<Member> members_;
  std::vector<Thread> threads_;         // 2 r: the application of rank r; 2 r + 1: its engine
  std::vector<Cores> cores_;            // by host
  std::vector<Moving> moving_;          // by number of the bucket
  order::OrderOutput out_;
  int behind_ = 0;                      // ranks that have not ended the present step
  std::uint64_t digest_ = 0;
  Status failure_;
};

}  // namespace unisono::sim
