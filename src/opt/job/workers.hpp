// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Threads that share the work of one rank. The caller works too, so one thread starts none.
// Thread: one caller at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace unisono::opt {

class Workers {
 public:
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return static_cast<int>(threads_.size()) + 1; }
  // Calls job(0) to job(count() - 1), each on a thread of its own, and waits for all.
  void run(const std::function<void(int)>& job);
  // Cuts [0, size) into count() ranges and calls job(begin, end) on each.
  void run_ranges(std::size_t size, const std::function<void(std::size_t, std::size_t)>& job);

 private:
  void serve(int index);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(int)>* job_ = nullptr;
  std::uint64_t turn_ = 0;                  // of the job that is given out
  int busy_ = 0;
  bool leaving_ = false;
};

}  // namespace unisono::opt
