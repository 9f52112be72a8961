// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who drives the loop, and who sleeps (docs/THREADS.md).
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/cpu.hpp"
#include "engine/core.hpp"

namespace unisono {
namespace {

// Which engine this thread drives at the moment: a callback that waits would wait for itself.
thread_local const EngineCore* t_driving = nullptr;

std::int64_t thread_cpu_ns() {
  timespec spec{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spec);
  return spec.tv_sec * 1'000'000'000 + spec.tv_nsec;
}

}  // namespace

void EngineCore::run() {
  name_this_thread("unisono-engine");
  while (true) {
    token_.take();
    bell_.disarm();
    bell_.drain();
    t_driving = this;
    // A burst is worked off before sleeping, with a pause for a waiting caller to take over.
    while (loop_->pass()) {
    }
    t_driving = nullptr;
    if (loop_->finished()) {
      // From here on nobody drives; shutdown() answers what was pushed too late.
      loop_.reset();
      token_.release();
      return;
    }
    arm();
    const bool busy = loop_->ready();
    const Time due = sleeps_until_ = loop_->deadline();
    token_.release();
    cpu_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
    if (busy) continue;
    const Nanos limit = due == kNever ? Nanos(-1) : std::max(Nanos(0), due - clock_.now());
    const auto events = poller_.wait(limit);
    Counters::add(counters_.wakeups);
    for (const Poller::Ready& event : events) {
      if (event.key != kDoorKey) continue;
      token_.take();
      loop_->door_is_ready();
      token_.release();
    }
  }
}

void EngineCore::wait(TicketState& ticket, Time deadline) {
  const Time begin = clock_.now();
  // Whoever drives is often just done: looking again is less than sleeping.
  for (Time now = begin; !ticket.done() && now < deadline; now = clock_.now()) {
    if (token_.try_take()) {
      drive_for(ticket, deadline);
      break;
    }
    if (now - begin >= spin_ + yield_) break;
    yield_ > Nanos(0) ? static_cast<void>(::sched_yield()) : cpu_relax();
  }
  while (!ticket.done()) {
    const Time now = clock_.now();
    if (now >= deadline) break;
    ticket.sleep(deadline == kNever ? Nanos(-1) : deadline - now);
  }
  Counters::add(counters_.exposed_ns, static_cast<std::uint64_t>((clock_.now() - begin).count()));
}

// Drives the loop until the ticket is done or nothing has happened for the spin's length.
void EngineCore::drive_for(TicketState& ticket, Time deadline) {
  if (loop_ == nullptr || t_driving != nullptr) return token_.release();
  bell_.disarm();
  t_driving = this;
  Time quiet_since = clock_.now();
  while (!ticket.done()) {
    const bool worked = loop_->pass();
    if (loop_->finished()) break;
    const Time now = clock_.now();
    if (worked) {
      quiet_since = now;
    } else if (now - quiet_since < spin_) {
      cpu_relax();
    } else if (now - quiet_since < spin_ + yield_) {
      ::sched_yield();
    } else {
      break;
    }
    if (now >= deadline) break;
  }
  t_driving = nullptr;
  hand_back();
}

// While nothing is on its way neighbours' counters are no reason to wake up.
void EngineCore::arm() {
  bell_.arm(loop_->moving() ? kRingForWork | kRingForProgress : kRingForWork);
}

// For who would otherwise wake the engine thread, which may be about to fall asleep.
bool EngineCore::try_take_soon() {
  constexpr int kLooks = 64;
  for (int i = 0; i < kLooks; ++i) {
    if (token_.try_take()) return true;
    cpu_relax();
  }
  return false;
}

// The submitting thread takes its submission in itself when nobody drives: that is less than waking
// the engine thread for it, which then only wakes for what is left to do.
void EngineCore::hand_over(Handover submission) {
  inbox_->push_quietly(std::move(submission));
  // A callback may take locks that the submitting thread holds: then it runs on another thread.
  const bool not_here = callbacks_.load(std::memory_order_relaxed) || t_driving != nullptr;
  if (not_here || !try_take_soon()) return inbox_->ring();
  if (loop_ == nullptr) {
    token_.release();
    return;
  }
  bell_.disarm();
  t_driving = this;
  loop_->light_pass();
  t_driving = nullptr;
  hand_back();
}

// Gives the loop back to the engine thread, which sleeps: it is rung when work is left.
void EngineCore::hand_back() {
  arm();
  // The engine thread sleeps towards a deadline that this drive may have brought nearer.
  const bool busy = loop_->ready() || loop_->finished() || loop_->deadline() < sleeps_until_;
  token_.release();
  if (busy) bell_.ringer().ring_always();
}

// Through the inbox, so that the loop hears of it before whatever this thread submits next, and
// before what another thread submits that heard of it from this one. Nobody needs to wake up for it.
void EngineCore::observed(const TicketState& ticket) {
  if (!usable().ok()) return;
  Handover news;
  news.observed = ticket.watch;
  inbox_->push_quietly(std::move(news));
}

Status EngineCore::may_wait() const {
  if (::getpid() != pid_) return usable();
  if (t_driving == nullptr) return {};
  return Status(Code::invalid_argument,
                "wait() inside an on_done callback would wait for itself; wait on another thread");
}

}  // namespace unisono
