// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/limit.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

using Clock = std::chrono::steady_clock;
// Four registers at a time keep the loads of several buffers in flight on any machine.
using Vector [[gnu::vector_size(16)]] = float;
constexpr std::size_t kStep = 4 * sizeof(Vector);

double us_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - start).count();
}

}  // namespace

Status MemoryLimit::set_up(const Work& work) {
  buffers_.clear();
  bytes_ = (static_cast<std::size_t>(work.bytes()) + kStep - 1) / kStep * kStep;
  try {
    for (int rank = 0; rank < ranks_; ++rank) buffers_.emplace_back(bytes_);
  } catch (const std::bad_alloc&) {
    return Status(Code::unavailable, cat("no memory for ", ranks_, " buffers of ", bytes_, " B"));
  }
  return {};
}

std::size_t MemoryLimit::slice_start(int rank) const {
  const std::size_t steps = bytes_ / kStep;
  return steps * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks_) * kStep;
}

void MemoryLimit::pass(std::size_t begin, std::size_t end) const {
  const float scale = 1.0F / static_cast<float>(ranks_);
  std::vector<Vector*> inputs;
  for (const Buffer& buffer : buffers_) {
    inputs.push_back(reinterpret_cast<Vector*>(buffer.span().data()));
  }
  constexpr std::size_t kVectors = kStep / sizeof(Vector);
  for (std::size_t at = begin / sizeof(Vector); at < end / sizeof(Vector); at += kVectors) {
    Vector sum[kVectors];
    for (std::size_t i = 0; i < kVectors; ++i) sum[i] = inputs[0][at + i];
    for (std::size_t r = 1; r < inputs.size(); ++r) {
      for (std::size_t i = 0; i < kVectors; ++i) sum[i] += inputs[r][at + i];
    }
    for (Vector* output : inputs) {
      for (std::size_t i = 0; i < kVectors; ++i) output[at + i] = sum[i] * scale;
    }
  }
}

Result<Block> MemoryLimit::run_block(int iterations, int seed) {
  Block block;
  std::barrier together(ranks_);
  std::vector<Clock::time_point> starts(buffers_.size());
  const auto work = [&](int rank) {
    // The thread that stands for the rank touches the buffer first.
    const std::span<std::byte> mine = buffers_[static_cast<std::size_t>(rank)].span();
    const float value = static_cast<float>(seed % 5 + rank);
    for (std::size_t at = 0; at < mine.size(); at += sizeof value) {
      std::memcpy(&mine[at], &value, sizeof value);
    }
    together.arrive_and_wait();
    const auto begin = Clock::now();
    for (int i = 0; i < iterations; ++i) {
      together.arrive_and_wait();
      starts[static_cast<std::size_t>(rank)] = Clock::now();
      pass(slice_start(rank), slice_start(rank + 1));
      together.arrive_and_wait();
      // Counts from the first start: a thread that was scheduled late must not hide others' work.
      if (rank == 0) {
        const auto first = *std::min_element(starts.begin(), starts.end());
        block.times_us.push_back(us_between(first, Clock::now()));
      }
    }
    if (rank == 0) block.wall_us = us_between(begin, Clock::now());
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < ranks_; ++rank) threads.emplace_back(work, rank);
  work(0);
  for (std::thread& thread : threads) thread.join();
  float expected = 0, found = 0;
  for (int rank = 0; rank < ranks_; ++rank) expected += static_cast<float>(seed % 5 + rank);
  expected /= static_cast<float>(ranks_);
  std::memcpy(&found, buffers_.back().span().data() + bytes_ - sizeof found, sizeof found);
  block.checked = found > expected * 0.999F - 1e-6F && found < expected * 1.001F + 1e-6F;
  return block;
}

}  // namespace unisono::tools
