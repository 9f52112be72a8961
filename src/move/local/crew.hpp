// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Threads of one rank that share the copying and reducing of an operation. The caller works too, so
// a crew of one has no thread at all and costs nothing.
// Thread: one caller at a time. share() returns when every part is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace unisono::move {

class Crew {
 public:
  explicit Crew(int threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }
  // Calls work(begin, end) for parts of [begin, end) cut at multiples of `grain`, side by side.
  void share(std::size_t begin, std::size_t end, std::size_t grain,
             const std::function<void(std::size_t, std::size_t)>& work);

 private:
  void help(int index);
  void do_part(int index) const;

  std::vector<std::thread> helpers_;
  std::atomic<std::uint32_t> turn_{0};      // grows with every share()
  std::atomic<std::uint32_t> left_{0};      // helpers that have not ended this turn
  std::atomic<bool> closing_{false};
  std::size_t begin_ = 0, end_ = 0, part_ = 0;
  const std::function<void(std::size_t, std::size_t)>* work_ = nullptr;
};

}  // namespace unisono::move
