// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/job/workers.hpp"

namespace unisono::opt {

Workers::Workers(int threads) {
  for (int index = 1; index < threads; ++index) {
    threads_.emplace_back([this, index] { serve(index); });
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(const std::function<void(int)>& job) {
  if (threads_.empty()) return job(0);
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    busy_ = static_cast<int>(threads_.size());
    ++turn_;
  }
  begin_.notify_all();
  job(0);
  std::unique_lock lock(mutex_);
  end_.wait(lock, [&] { return busy_ == 0; });
}

void Workers::run_ranges(std::size_t size,
                         const std::function<void(std::size_t, std::size_t)>& job) {
  const auto parts = static_cast<std::size_t>(count());
  run([&](int index) {
    const auto i = static_cast<std::size_t>(index);
    job(size * i / parts, size * (i + 1) / parts);
  });
}

void Workers::serve(int index) {
  std::uint64_t done = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begin_.wait(lock, [&] { return leaving_ || turn_ != done; });
    if (leaving_) return;
    done = turn_;
    const auto& job = *job_;
    lock.unlock();
    job(index);
    lock.lock();
    if (--busy_ == 0) end_.notify_one();
  }
}

}  // namespace unisono::opt
