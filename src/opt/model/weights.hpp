// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Weights w = s · v. Shrinking all of them, as L2 regularisation does in every step, touches s
// alone, so that a step touches no more than its sparse gradient does. Thread: readers may be
// several.
#pragma once

#include <cstdint>
#include <vector>

#include "opt/data/rows.hpp"

namespace unisono::opt {

class Weights {
 public:
  explicit Weights(std::uint32_t width) : v_(width) {}

  std::uint32_t width() const { return static_cast<std::uint32_t>(v_.size()); }
  double dot(const Entry& row) const {
    double sum = 0;
    for (std::size_t i = 0; i < row.columns.size(); ++i) {
      sum += static_cast<double>(v_[row.columns[i]]) * row.values[i];
    }
    return s_ * sum;
  }
  double operator[](std::uint32_t column) const { return s_ * v_[column]; }
  void add(std::uint32_t column, double change) {
    v_[column] = static_cast<float>(v_[column] + change / s_);
  }
  // All weights times a factor above 0.
  void shrink(double factor) {
    s_ *= factor;
    if (s_ < kFold) fold();
  }
  // What add() divides by, for loops over many columns.
  double scale() const { return s_; }
  float* raw() { return v_.data(); }

  double square() const {
    double sum = 0;
    for (const float v : v_) sum += static_cast<double>(v) * v;
    return s_ * s_ * sum;
  }
  std::vector<float> values() const {
    std::vector<float> all(v_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(s_ * v_[i]);
    return all;
  }

 private:
  static constexpr double kFold = 1e-6;     // long before v loses bits or overflows
  void fold() {
    for (float& v : v_) v = static_cast<float>(s_ * v);
    s_ = 1;
  }

  std::vector<float> v_;
  double s_ = 1;
};

}  // namespace unisono::opt
