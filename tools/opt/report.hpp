// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A training as lines for people and as JSON for scripts. Pure.
#pragma once

#include <optional>
#include <string>

#include "opt/arguments.hpp"

namespace unisono::tools {

struct TrainingFacts {
  int ranks = 1;
  std::uint64_t rows = 0, nonzeros = 0;
  std::uint32_t features = 0;
  double reading_s = 0;
};

std::string training_head(const OptArguments& asked, const TrainingFacts& facts);
std::string epoch_head();
std::string epoch_line(int epoch, const opt::EpochReport& report);
std::string training_json(const OptArguments& asked, const TrainingFacts& facts,
                          const opt::Trained& trained);

struct Prediction {
  std::uint64_t rows = 0, positive = 0;
  std::optional<double> accuracy;           // when the model knows every label of the data
};
std::string prediction_text(const OptArguments& asked, const Prediction& prediction);
std::string prediction_json(const OptArguments& asked, const Prediction& prediction);

}  // namespace unisono::tools
