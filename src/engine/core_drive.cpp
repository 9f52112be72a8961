// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who drives the loop, and who sleeps (docs/THREADS.md).
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <new>

#include "base/os/cpu.hpp"
#include "base/data/text.hpp"
#include "engine/core.hpp"

namespace unisono::engine {
namespace {

// The engine that this thread drives at the moment: a callback that waited would wait for itself.
thread_local const EngineCore* t_driving = nullptr;

class Driving {
 public:
  explicit Driving(const EngineCore* core) { t_driving = core; }
  ~Driving() { t_driving = nullptr; }
  Driving(const Driving&) = delete;
  Driving& operator=(const Driving&) = delete;
};

std::int64_t thread_cpu_ns() {
  timespec spec{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spec);
  return spec.tv_sec * 1'000'000'000 + spec.tv_nsec;
}

// How long streams stay muted after somebody has waited, and how seldom the engine thread looks
// while somebody waits all the time.
constexpr Nanos kPatrolMin{200'000}, kPatrolMax{500'000};

// The status for an exception that reached the edge of a drive.
Status broken_status(Rank rank, const char* what) noexcept {
  try {
    return Status(Code::internal,
                  cat("the engine of rank ", rank, " failed: ", what,
                      "; this is a defect of unisono or of its surroundings, and the job is over"),
                  Culprit{rank, {}, 0, {}});
  } catch (...) {
    return dropped_status();
  }
}

}  // namespace

bool EngineCore::drives_here() const { return t_driving == this; }

// No exception passes this edge: it breaks the loop, which fails every ticket.
bool EngineCore::pass(std::size_t max_bytes) noexcept {
  if (loop_->finished()) return false;
  const Driving driving(this);
  try {
    return loop_->pass(max_bytes);
  } catch (const std::bad_alloc&) {
    loop_->break_down(out_of_memory_);
  } catch (const std::exception& error) {
    loop_->break_down(broken_status(identity_.rank, error.what()));
  } catch (...) {
    loop_->break_down(broken_status(identity_.rank, "something that is no std::exception"));
  }
  return false;
}

void EngineCore::run() {
  name_this_thread("unisono-engine");
  while (turn()) {
  }
}

// Runs from one sleep to the next; returns false when the loop has ended.
bool EngineCore::turn() {
  const bool only_looks = std::exchange(only_looks_, false);
  if (!token_.try_take()) {
    // A caller drives, who rings if it leaves something to do. Waiting for the token would have it
    // wake this thread each time it hands back, and take the token again before this thread runs. A
    // ring that comes while it hands back is lost here: the next look is soon.
    bell_.drain();
    patrols_.store(true, std::memory_order_relaxed);
    patrol_ = only_looks ? std::min(2 * patrol_, kPatrolMax) : kPatrolMin;
    sleep(patrol_, true);
    return true;
  }
  bool busy = false, worked = false, spins = false;
  Time due = kNever;
  {
    const TokenHold hold(token_, std::adopt_lock);
    bell_.disarm();
    bell_.drain();
    // A burst is worked off before sleeping; a waiting caller can take over between two turns.
    while (pass(SIZE_MAX)) worked = true;
    if (loop_->finished()) {
      end_loop();
      return false;
    }
    const bool patrols = poller_.muted() && clock_.now() - waited_at_ < kPatrolMin;
    patrols_.store(patrols, std::memory_order_relaxed);
    patrol_ = kPatrolMin;
    arm(!patrols);
    busy = loop_->ready();
    spins = loop_->blocking();
    due = sleeps_until_ = loop_->deadline();
  }
  const Nanos spun = spinning_.looked(worked, spins, clock_.now());
  observe::Counters::add(counters_.spinning_ns, static_cast<std::uint64_t>(spun.count()));
  cpu_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
  if (busy && worked) return true;
  // Whatever is due and cannot be done must not keep the thread from what the poller has to say.
  // A thread that spins looks there as well, and lets others run where cores are too few.
  if (spins && spins_politely_) ::sched_yield();
  const Nanos limit = busy || spins   ? Nanos(0)
                      : due == kNever ? Nanos(-1) : std::max(Nanos(0), due - clock_.now());
  const bool by_patrol = patrols_.load(std::memory_order_relaxed) &&
                         (limit < Nanos(0) || patrol_ < limit);
  sleep(by_patrol ? patrol_ : limit, by_patrol);
  return true;
}

void EngineCore::sleep(Nanos limit, bool by_patrol) {
  try {
    const auto events = poller_.wait(limit);
    only_looks_ = by_patrol && events.empty();
    if (limit != Nanos(0)) observe::Counters::add(counters_.wakeups);
    const bool door = std::any_of(events.begin(), events.end(), [](const Poller::Ready& event) {
      return event.key == rendezvous::kDoorKey;
    });
    if (!door) return;
    const TokenHold hold(token_);
    loop_->door_is_ready();
  } catch (const std::bad_alloc&) {
    // Events repeat until they are dealt with.
  }
}

// Nobody drives from here on. What is still under way fails as it is dropped with the loop, what
// was pushed too late fails here, and what comes later is refused by the closed inbox.
void EngineCore::end_loop() {
  const Driving driving(this);
  if (!loop_->failure().ok()) ended_ = loop_->failure();
  loop_.reset();
  for (Handover& submission : inbox_->close()) refuse(submission, ended_);
}

void EngineCore::refuse(Handover& submission, const Status& status) noexcept {
  for (Pending& pending : submission.operations) {
    submit::resolve(pending, status, [this](const Request& request) { names_.release(request); });
  }
}

void EngineCore::wait(TicketState& ticket, Time deadline) {
  const Time begin = clock_.now();
  // Whoever drives is often about to finish: looking again costs less than sleeping.
  for (Time now = begin; !ticket.done() && now < deadline; now = clock_.now()) {
    if (token_.try_take()) {
      drive_for(ticket, deadline);
      break;
    }
    if (now - begin >= spin_ + yield_) break;
    yield_ > Nanos(0) ? static_cast<void>(::sched_yield()) : cpu_relax();
  }
  asleep_.fetch_add(1, std::memory_order_relaxed);
  while (!ticket.done()) {
    const Time now = clock_.now();
    if (now >= deadline) break;
    ticket.sleep(deadline == kNever ? Nanos(-1) : deadline - now);
  }
  asleep_.fetch_sub(1, std::memory_order_relaxed);
  observe::Counters::add(counters_.exposed_ns,
                         static_cast<std::uint64_t>((clock_.now() - begin).count()));
}

// Drives the loop until the ticket is done or nothing has happened for the spin's length.
void EngineCore::drive_for(TicketState& ticket, Time deadline) {
  TokenHold hold(token_, std::adopt_lock);
  if (loop_ == nullptr || t_driving != nullptr) return;
  bell_.disarm();
  poller_.mute_streams(true);
  Time quiet_since = clock_.now();
  while (!ticket.done()) {
    const bool worked = pass(SIZE_MAX);
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
  waited_at_ = clock_.now();
  // Another thread that sleeps on its ticket shall not wait for the next patrol.
  hand_back(hold, !ticket.done() || asleep_.load(std::memory_order_relaxed) > 0);
}

// While nothing is on its way, neighbours' counters are no reason to wake up.
void EngineCore::arm(bool listens) {
  if (listens) poller_.mute_streams(false);
  bell_.arm(loop_->moving() ? kRingForWork | kRingForProgress : kRingForWork);
}

// For callers that would otherwise wake the engine thread, which may be about to fall asleep.
bool EngineCore::try_take_soon() {
  constexpr int kLooks = 64;
  for (int i = 0; i < kLooks; ++i) {
    if (token_.try_take()) return true;
    cpu_relax();
  }
  return false;
}

// When nobody drives, the submitting thread takes in its submission itself. That costs less than
// waking the engine thread, which then wakes only for what is left to do.
void EngineCore::hand_over(Handover submission) noexcept {
  try {
    if (!inbox_->push_quietly(std::move(submission))) return refuse(submission, ended_);
  } catch (const std::bad_alloc&) {
    return refuse(submission, out_of_memory_);
  }
  // A callback may take locks that the submitting thread holds, so it runs on another thread.
  const bool not_here = callbacks_.load(std::memory_order_relaxed) || t_driving != nullptr;
  if (not_here || !try_take_soon()) return inbox_->ring();
  TokenHold hold(token_, std::adopt_lock);
  if (loop_ == nullptr) return;             // it ended just now, and answered what was pushed
  constexpr std::size_t kLightBytes = 64 << 10;
  bell_.disarm();
  pass(kLightBytes);
  hand_back(hold, false);
}

// Hands the loop back to the engine thread, which sleeps, and rings it when work is left.
// Whoever has got what it waited for often waits again at once. Until it is clear that it does not,
// streams stay muted, or the first word from another rank would wake the engine thread in between;
// meanwhile that thread looks now and then (it patrols).
void EngineCore::hand_back(TokenHold& hold, bool listens) {
  arm(listens);
  // The engine thread sleeps towards a deadline that this drive may have brought nearer.
  const bool busy = loop_->ready() || loop_->finished() || loop_->blocking() ||
                    loop_->deadline() < sleeps_until_;
  const bool nobody_looks = poller_.muted() && !patrols_.load(std::memory_order_relaxed);
  hold.release();
  if (busy || nobody_looks) bell_.ringer().ring_always();
}

// The news goes through the inbox, so the loop hears of it before what this thread submits next,
// and before what threads submit that heard of it from this one. Nobody needs to wake up for it.
void EngineCore::observed(const TicketState& ticket) noexcept {
  if (forks_.in_child()) return;
  Handover news;
  news.observed = ticket.watch;
  try {
    // Nobody learns from an engine whose inbox is closed.
    static_cast<void>(inbox_->push_quietly(std::move(news)));
  } catch (const std::bad_alloc&) {
    // Without the news less is learned, but nothing goes wrong.
  }
}

Status EngineCore::may_wait() const {
  if (forks_.in_child()) return usable();
  if (t_driving == nullptr) return {};
  return Status(Code::invalid_argument,
                "wait() inside an on_done callback would wait for itself; wait on another thread");
}

}  // namespace unisono::engine
