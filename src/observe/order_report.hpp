// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the order of the world stands, for whoever asks. Thread-safe.
#pragma once

#include <mutex>
#include <utility>

#include "unisono/unisono.hpp"

namespace unisono::observe {

class OrderReports {
 public:
  void set(OrderReport report) {
    const std::lock_guard lock(mutex_);
    report_ = std::move(report);
  }
  OrderReport get() const {
    const std::lock_guard lock(mutex_);
    return report_;
  }

 private:
  mutable std::mutex mutex_;
  OrderReport report_;
};

}  // namespace unisono::observe
