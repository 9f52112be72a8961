// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: ranks as threads, and files of one test. Uses the public interface alone.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "unisono/unisono.hpp"

namespace unisono::opt {

inline void run_ranks(int size, const std::function<void(Engine&)>& body) {
  ThreadWorld world(size);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto engine = Engine::join({}, world, rank);
      ASSERT_TRUE(engine.ok()) << engine.status().to_string();
      body(*engine);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// An empty folder that goes away with the object.
class Folder {
 public:
  Folder() { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string in(const std::string& name) const { return path_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(in(name), std::ios::binary) << text;
    return in(name);
  }

 private:
  std::string path_ = testing::TempDir() + "unisono-opt-XXXXXX";
};

}  // namespace unisono::opt
