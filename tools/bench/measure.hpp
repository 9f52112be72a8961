// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The measurement itself: for each size, contenders take turns in rotating order, a block of
// iterations at a time, so that changes on the machine affect all of them equally.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/contender.hpp"

namespace unisono::tools {

struct Row {
  Label label;
  Collective collective = Collective::allreduce;
  DType dtype = DType::f32;
  int ranks = 0;
  std::int64_t bytes = 0;
  double median_us = 0, p10_us = 0, p90_us = 0;
  int repetitions = 0;                       // rounds
  std::int64_t iterations = 0;               // timed calls in all rounds
  bool checked = false;
};

struct Measurement {
  std::vector<Row> rows;
  // "gloo: ..." lines: what could not be measured and why.
  std::vector<std::string> notes;
  struct Explained {
    std::string heading, text;
  };
  std::vector<Explained> explanations;       // of ours, when asked for
  bool ours_failed = false;
};

// The q-quantile (q from 0 to 1), interpolated between the nearest two; values need not be sorted.
double quantile(std::vector<double> values, double q);

// done is the part of the work that is over, 0 to 1; now says what is being measured.
using Progress = std::function<void(double done, const std::string& now)>;
Measurement measure(const BenchSettings& settings,
                    std::vector<std::unique_ptr<Contender>>& contenders, const Progress& progress);

}  // namespace unisono::tools
