// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: runs a body once per rank, each rank a thread with an Engine of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "engine/world.hpp"
#include "unisono/unisono.hpp"

namespace unisono::engine {

// ranks_per_host: how many share memory, as if they were on a host of their own; 0: all.
inline void run_ranks(int size, const std::function<void(Engine&)>& body, Options options = {},
                      int ranks_per_host = 0) {
  ThreadWorld world(size);
  if (ranks_per_host > 0) world.core()->divide_into_hosts(ranks_per_host);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto engine = Engine::join(options, world, rank);
      ASSERT_TRUE(engine.ok()) << engine.status().to_string();
      body(*engine);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace unisono::engine
