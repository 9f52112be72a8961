// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: ranks as threads that join as processes do, and exchange everything over TCP.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/data/text.hpp"
#include "unisono/unisono.hpp"

namespace unisono::engine {

// They find each other through a job file of a name that only this process uses.
inline void run_tcp_ranks(int size, const std::function<void(Engine&)>& body, Options options = {}) {
  static int jobs = 0;
  const std::string job = cat("tcp-ranks-", ::getpid(), "-", ++jobs);
  options.transport = "tcp";
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const std::map<std::string, std::string> variables{{"UNISONO_RANK", cat(rank)},
                                                         {"UNISONO_SIZE", cat(size)},
                                                         {"UNISONO_JOB", job}};
      auto engine = Engine::join(options, [&](const std::string& name) {
        const auto it = variables.find(name);
        return it == variables.end() ? std::nullopt : std::optional(it->second);
      });
      ASSERT_TRUE(engine.ok()) << engine.status().to_string();
      body(*engine);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace unisono::engine
