// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/local/crew.hpp"

#include <algorithm>

#include "base/os/cpu.hpp"

namespace unisono::move {
namespace {
// Chunks of one operation follow each other closely: waking a helper that slept in between would
// cost more than its part.
constexpr int kLooks = 2000;
// Below this a part is done sooner than a helper hears of it.
constexpr std::size_t kLeastPart = 32 << 10;
}  // namespace

Crew::Crew(int threads) {
  for (int i = 1; i < threads; ++i) helpers_.emplace_back([this, i] { help(i); });
}

Crew::~Crew() {
  closing_.store(true, std::memory_order_relaxed);
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Crew::share(std::size_t begin, std::size_t end, std::size_t grain,
                 const std::function<void(std::size_t, std::size_t)>& work) {
  const auto parts = static_cast<std::size_t>(size());
  if (parts == 1 || end - begin < 2 * kLeastPart) {
    if (begin < end) work(begin, end);
    return;
  }
  begin_ = begin;
  end_ = end;
  const std::size_t even = (end - begin + parts - 1) / parts;
  part_ = std::max(kLeastPart, (even + grain - 1) / grain * grain);
  work_ = &work;
  left_.store(static_cast<std::uint32_t>(helpers_.size()), std::memory_order_relaxed);
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
  do_part(0);
  for (int i = 0; left_.load(std::memory_order_acquire) != 0; ++i) {
    // A helper without a core of its own needs this one.
    i < kLooks ? cpu_relax() : std::this_thread::yield();
  }
}

void Crew::do_part(int index) const {
  const std::size_t begin = std::min(end_, begin_ + static_cast<std::size_t>(index) * part_);
  const std::size_t end = std::min(end_, begin + part_);
  if (begin < end) (*work_)(begin, end);
}

void Crew::help(int index) {
  name_this_thread("unisono-crew");
  std::uint32_t seen = 0;
  while (true) {
    for (int i = 0; i < kLooks && turn_.load(std::memory_order_acquire) == seen; ++i) cpu_relax();
    turn_.wait(seen, std::memory_order_acquire);
    seen = turn_.load(std::memory_order_acquire);
    if (closing_.load(std::memory_order_relaxed)) return;
    do_part(index);
    left_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace unisono::move
