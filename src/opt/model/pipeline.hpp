// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Steps of a solver through an exchange: one after the other, or with the exchange of a step
// running while the next one computes, whose weights lack that step then. Keeps the time that the
// rank spent on communication alone. Thread: one.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "opt/exchange/exchange.hpp"

namespace unisono::opt {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// About: what apply() has to know of the step besides its sum.
template <typename About>
class Pipeline {
 public:
  using Apply = std::function<void(const Total&, const About&)>;
  Pipeline(Exchange& exchange, bool async, Apply apply)
      : exchange_(exchange), async_(async), apply_(std::move(apply)) {}

  // `mine` stays as it is until the push after this one has returned.
  Status push(SparseView mine, About about) {
    if (Status bad = drain(); !bad.ok()) return bad;
    const Stopwatch watch;
    const Status begun = exchange_.begin(mine);
    communication_s_ += watch.seconds();
    if (!begun.ok()) return begun;
    flying_ = std::move(about);
    return async_ ? Status() : drain();
  }
  // Waits for the step that is under way, if any.
  Status drain() {
    if (!flying_) return {};
    const Stopwatch watch;
    auto total = exchange_.end();
    communication_s_ += watch.seconds();
    const About about = std::move(*flying_);
    flying_.reset();
    if (!total.ok()) return total.status();
    apply_(*total, about);
    return {};
  }
  double communication_s() const { return communication_s_; }

 private:
  Exchange& exchange_;
  const bool async_;
  const Apply apply_;
  std::optional<About> flying_;
  double communication_s_ = 0;
};

}  // namespace unisono::opt
