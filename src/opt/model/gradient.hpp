// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The gradient of the losses of some rows, summed, as a sparse vector. Threads divide rows for the
// margins and columns for the sums, so the result has the same bits whatever their number.
// Thread: one caller.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "opt/data/rows.hpp"
#include "opt/exchange/accumulator.hpp"
#include "opt/exchange/exchange.hpp"
#include "opt/job/workers.hpp"
#include "opt/model/loss.hpp"
#include "opt/model/weights.hpp"

namespace unisono::opt {

class Gradient {
 public:
  Gradient(const Rows& rows, Workers& workers);

  // Valid until the call after the next one, so that one gradient may travel while the next is
  // made.
  SparseView of(std::span<const std::uint32_t> batch, const Weights& weights, Loss loss);

 private:
  struct Pairs {
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
  };
  void add_columns(std::span<const std::uint32_t> batch, std::uint32_t begin, std::uint32_t end);

  const Rows& rows_;
  Workers& workers_;
  Accumulator sum_;
  std::vector<std::uint32_t> cuts_;         // of the columns, one range for each worker
  std::vector<float> slopes_;               // by place in the batch, times the label
  std::vector<Pairs> pieces_;               // by worker
  std::array<Pairs, 2> results_;
  int turn_ = 0;
};

}  // namespace unisono::opt
