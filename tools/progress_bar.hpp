// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What commands show to people who wait. Thread: one.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

namespace unisono::tools {

// A bar on standard error, for people who wait more than two seconds; at most ten times a second.
class ProgressBar {
 public:
  explicit ProgressBar(bool wanted) : wanted_(wanted && ::isatty(2) == 1) {}
  ~ProgressBar() { clear(); }

  void show(double done, const std::string& now) {
    const auto time = std::chrono::steady_clock::now();
    if (!wanted_ || time < next_) return;
    next_ = time + std::chrono::milliseconds(100);
    constexpr int kCells = 30;
    std::string cells(kCells, '.');
    std::fill_n(cells.begin(), std::clamp(static_cast<int>(std::lround(done * kCells)), 0, kCells),
                '#');
    std::fprintf(stderr, "\r\033[K[%s] %3d %%  %s", cells.c_str(), static_cast<int>(done * 100),
                 now.c_str());
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  bool wanted_, shown_ = false;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(2);
};

}  // namespace unisono::tools
