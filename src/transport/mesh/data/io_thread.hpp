// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A thread that drives stripes of data, so that reading, checking, sealing and writing happen beside
// the engine's thread. It sleeps on a poller of its own while nothing is to do; before that it looks
// for more for a while, where it has a core for it: being woken takes longer than a short exchange.
// Thread: the engine's, but for run().
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/os/doorbell.hpp"
#include "base/os/poller.hpp"

namespace unisono::transport {

class Stripe;

// What all I/O threads of an engine tell it: that something has finished or was found.
class IoNews {
 public:
  explicit IoNews(Ringer engine) : engine_(engine) {}
  void tell() {
    there_is_.store(true, std::memory_order_release);
    engine_.ring();
  }
  // Before looking what it is, so that what comes meanwhile is looked at again.
  bool take() { return there_is() && there_is_.exchange(false, std::memory_order_acq_rel); }
  bool there_is() const { return there_is_.load(std::memory_order_acquire); }

 private:
  const Ringer engine_;
  std::atomic<bool> there_is_{false};
};

class IoThread {
 public:
  IoThread(IoNews& news, Nanos spin);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // Before start(). Returns the key for its stream.
  std::uint64_t add(Stripe& stripe);
  void start();
  // Afterwards no stripe is driven any more; the poller stays.
  void stop();
  bool bind(std::span<const int> cpus);
  // Has the stripe looked at soon: something was handed over.
  void call(Stripe& stripe);
  Poller& poller() { return poller_; }

 private:
  void run();
  void turn(std::vector<Stripe*>& hot);
  void gather(Nanos limit, std::vector<Stripe*>& hot);
  void take_called(std::vector<Stripe*>& hot);
  bool is_called();

  void look_for_more(std::vector<Stripe*>& hot);

  IoNews& news_;
  const Nanos spin_;
  Poller poller_;
  Doorbell bell_;
  std::vector<Stripe*> stripes_;            // by key
  std::mutex mutex_;
  std::vector<Stripe*> called_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// The I/O threads of a mesh; none is a set without effect.
class IoThreads {
 public:
  IoThreads(std::size_t count, Ringer engine, Nanos spin = Nanos(0));
  void start();
  void stop();
  // Returns false when the kernel refuses.
  bool bind(std::span<const int> cpus);
  bool empty() const { return threads_.empty(); }
  // Spreads stripes over the threads; null where there are none.
  IoThread* next();
  bool take_news() { return !threads_.empty() && news_.take(); }
  bool has_news() const { return !threads_.empty() && news_.there_is(); }

 private:
  IoNews news_;
  std::vector<std::unique_ptr<IoThread>> threads_;
  std::size_t next_ = 0;
};

}  // namespace unisono::transport
