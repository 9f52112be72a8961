// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One channel of a process set: buckets run through it one after the other, in the same order on
// all members. A set with several teams has several channels, and so several buckets in flight.
// Thread: the engine's driver.
#pragma once

#include <deque>
#include <memory>

#include "base/clock.hpp"
#include "run/bucket_run.hpp"
#include "run/mover.hpp"
#include "run/select/selector.hpp"

namespace unisono::run {

struct Channel {
  std::unique_ptr<move::LocalTeam> team;          // null: members do not all share memory
  std::unique_ptr<move::HostTeam> host;     // null: or no two of them share any
  std::unique_ptr<Mover> mover;             // null: the loop itself makes all steps
  std::unique_ptr<Selector> selector;       // of algorithms over messages
  std::uint64_t next_move = 0;
  std::deque<Bucket> queue;
  std::unique_ptr<BucketRun> run;
  bool lent = false;                        // the run is with the mover
  Time begun, packed, joined;               // of the run; joined is kNever until all are there
  std::uint64_t closed = UINT64_MAX;        // the epoch whose plan has ended in this channel
  Time held_until = kNever;                 // moved, but an emulated network still has it

  Channel() = default;
  // A run that is lent is the mover's until its step has ended.
  ~Channel() {
    if (lent) mover->finish_step();
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Takes one turn of the run; returns waiting while the mover has it, or an emulated network.
  move::Step step();
  bool ready() const;
  // The bucket that runs or comes next, and its size; the channel is not drained.
  const Bucket& next() const { return run != nullptr ? run->bucket() : queue.front(); }
  std::size_t next_bytes() const { return next().bytes; }
  bool drained() const { return run == nullptr && queue.empty(); }

 private:
  move::Step move_on();
  move::Step hold();
};

}  // namespace unisono::run
