// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A trained model, and its file: a text header, then the weights that are not 0, one to a line,
// then a checksum of all before. A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opt/data/dataset.hpp"
#include "opt/model/loss.hpp"
#include "unisono/status.hpp"

namespace unisono::opt {

struct LinearModel {
  Loss loss = Loss::logistic;
  LabelPair labels;
  bool intercept = false;
  std::vector<float> weights;               // by column; the intercept is the last

  std::uint32_t features() const {
    return static_cast<std::uint32_t>(weights.size()) - (intercept ? 1 : 0);
  }
  // Above 0: the higher label. Columns from features() on count for nothing.
  double decision(const Entry& row) const;
  float label_for(double decision) const { return decision > 0 ? labels.high : labels.low; }
};

std::string model_text(const LinearModel& model);
Result<LinearModel> parse_model(std::string_view text);
// Written beside and renamed.
Status write_model(const std::string& path, const LinearModel& model);
Result<LinearModel> read_model(const std::string& path);

}  // namespace unisono::opt
