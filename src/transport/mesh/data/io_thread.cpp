// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/data/io_thread.hpp"

#include <pthread.h>
#include <sched.h>

#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/os/cpu.hpp"
#include "transport/mesh/data/stripe.hpp"

namespace unisono::transport {
namespace {
constexpr std::uint64_t kIoBellKey = 0;     // stripes have the keys from 1 on
}  // namespace

IoThread::IoThread(IoNews& news, Nanos spin) : news_(news), spin_(spin) {
  poller_.watch(bell_.fd(), kIoBellKey, true, false);
}
IoThread::~IoThread() { stop(); }

std::uint64_t IoThread::add(Stripe& stripe) {
  stripes_.push_back(&stripe);
  called_.reserve(stripes_.size());         // so that a call never needs memory
  return stripes_.size();
}

void IoThread::start() {
  thread_ = std::thread([this] { run(); });
}

void IoThread::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  bell_.ringer().ring();
  thread_.join();
}

bool IoThread::bind(std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<unsigned>(cpu), &set);
  return ::pthread_setaffinity_np(thread_.native_handle(), sizeof set, &set) == 0;
}

// A call costs a lock only where none has been made since the thread looked last.
void IoThread::call(Stripe& stripe) {
  if (stripe.called_.exchange(true, std::memory_order_acq_rel)) return;
  {
    const std::lock_guard locked(mutex_);
    called_.push_back(&stripe);
  }
  bell_.ringer().ring();
}

void IoThread::take_called(std::vector<Stripe*>& hot) {
  const std::lock_guard locked(mutex_);
  for (Stripe* stripe : called_) {
    // From here on it must be called again: what is handed over later may miss the next drive.
    stripe->called_.exchange(false, std::memory_order_acq_rel);
    if (!std::exchange(stripe->hot_, true)) hot.push_back(stripe);
  }
  called_.clear();
}

bool IoThread::is_called() {
  const std::lock_guard locked(mutex_);
  return !called_.empty() || stopping_.load(std::memory_order_acquire);
}

void IoThread::gather(Nanos limit, std::vector<Stripe*>& hot) {
  for (const Poller::Ready& event : poller_.wait(limit)) {
    if (event.key == kIoBellKey) {
      bell_.drain();
      continue;
    }
    Stripe* const stripe = stripes_[event.key - 1];
    if (!std::exchange(stripe->hot_, true)) hot.push_back(stripe);
  }
}

void IoThread::look_for_more(std::vector<Stripe*>& hot) {
  const SteadyClock clock;
  const Time end = clock.now() + spin_;
  while (hot.empty() && clock.now() < end && !stopping_.load(std::memory_order_acquire)) {
    gather(Nanos(0), hot);
    take_called(hot);
  }
}

void IoThread::turn(std::vector<Stripe*>& hot) {
  take_called(hot);
  if (hot.empty() && spin_ > Nanos(0)) look_for_more(hot);
  if (hot.empty()) {
    bell_.arm();
    gather(is_called() ? Nanos(0) : Nanos(-1), hot);
    bell_.disarm();
  } else {
    gather(Nanos(0), hot);
  }
  bool news = false;
  std::erase_if(hot, [&](Stripe* stripe) {
    stripe->hot_ = stripe->drive(news);
    return !stripe->hot_;
  });
  if (news) news_.tell();
}

void IoThread::run() {
  name_this_thread("unisono-io");
  std::vector<Stripe*> hot;
  hot.reserve(stripes_.size());
  while (!stopping_.load(std::memory_order_acquire)) {
    try {
      turn(hot);
    } catch (const std::bad_alloc&) {
      std::this_thread::yield();            // what is to do is still there
    }
  }
}

IoThreads::IoThreads(std::size_t count, Ringer engine, Nanos spin) : news_(engine) {
  for (std::size_t i = 0; i < count; ++i) {
    threads_.push_back(std::make_unique<IoThread>(news_, spin));
  }
}
void IoThreads::start() {
  try {
    for (auto& thread : threads_) thread->start();
  } catch (...) {
    stop();                                 // whoever has made the stripes destroys them now
    throw;
  }
}
void IoThreads::stop() {
  for (auto& thread : threads_) thread->stop();
}
bool IoThreads::bind(std::span<const int> cpus) {
  for (auto& thread : threads_) {
    if (!thread->bind(cpus)) return false;
  }
  return true;
}
IoThread* IoThreads::next() {
  return threads_.empty() ? nullptr : threads_[next_++ % threads_.size()].get();
}

}  // namespace unisono::transport
