// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// For tests of the C interface: ranks as threads of this process, each with an engine of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "unisono/unisono.h"

namespace unisono::engine {

// Runs the body on every rank; all leave together.
inline void run_c_ranks(int ranks, const std::function<void(unisono_engine*, int rank)>& body) {
  unisono_world* world = unisono_world_create(ranks);
  ASSERT_NE(world, nullptr) << unisono_last_error();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      unisono_engine* engine = nullptr;
      ASSERT_EQ(unisono_join_world(world, rank, nullptr, &engine), UNISONO_OK)
          << unisono_last_error();
      body(engine, rank);
      unisono_barrier(engine, 0);
      unisono_leave(engine);
    });
  }
  for (std::thread& thread : threads) thread.join();
  unisono_world_free(world);
}

}  // namespace unisono::engine
