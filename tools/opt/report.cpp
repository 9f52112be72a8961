// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/report.hpp"

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

using nlohmann::ordered_json;

std::string dumped(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

// What is no number is written as null.
double or_null(const std::optional<double>& number) {
  return number.value_or(std::numeric_limits<double>::quiet_NaN());
}

template <typename... Parts>
std::string printed(const char* format, const Parts&... parts) {
  char line[256];
  std::snprintf(line, sizeof line, format, parts...);
  return line;
}

}  // namespace

std::string training_head(const OptArguments& asked, const TrainingFacts& facts) {
  return cat(asked.data, ": ", facts.rows, " rows, ", facts.features, " features, ",
             facts.nonzeros, " entries, read in ", printed("%.1f", facts.reading_s), " s by ",
             facts.ranks, facts.ranks == 1 ? " rank\n" : " ranks\n");
}

std::string epoch_head() {
  return "epoch       loss  accuracy      held  compute s  communication s  MB exchanged\n";
}

std::string epoch_line(int epoch, const opt::EpochReport& report) {
  const std::string held =
      report.held_accuracy ? printed("%8.2f %%", 100 * *report.held_accuracy) : "         -";
  return printed("%5d %10.6f  %6.2f %%", epoch, report.loss, 100 * report.accuracy) + held +
         printed("  %9.3f  %15.3f  %12.2f\n", report.compute_s, report.communication_s,
                 report.bytes / 1e6);
}

std::string training_json(const OptArguments& asked, const TrainingFacts& facts,
                          const opt::Trained& trained) {
  ordered_json epochs = ordered_json::array();
  for (const opt::EpochReport& each : trained.epochs) {
    epochs.push_back({{"loss", each.loss},
                      {"accuracy", each.accuracy},
                      {"held_accuracy", or_null(each.held_accuracy)},
                      {"compute_s", each.compute_s},
                      {"communication_s", each.communication_s},
                      {"evaluation_s", each.evaluation_s},
                      {"bytes", each.bytes},
                      {"sent_bytes", each.sent_bytes},
                      {"steps", each.steps},
                      {"nonzeros_per_step", each.nonzeros}});
  }
  const opt::SolverSettings& solver = asked.train.solver;
  double held = or_null(std::nullopt);
  if (!trained.epochs.empty()) held = or_null(trained.epochs.back().held_accuracy);
  return dumped({{"command", asked.command},
                 {"ranks", facts.ranks},
                 {"rows", facts.rows},
                 {"features", facts.features},
                 {"nonzeros", facts.nonzeros},
                 {"reading_s", facts.reading_s},
                 {"loss", opt::name_of(solver.loss)},
                 {"solver", opt::name_of(solver.kind)},
                 {"exchange", trained.exchange},
                 {"async", solver.async},
                 {"rate", trained.rate},
                 {"epochs", std::move(epochs)},
                 {"held_accuracy", held}});
}

std::string prediction_text(const OptArguments& asked, const Prediction& prediction) {
  const std::string right =
      prediction.accuracy ? printed("accuracy %.2f %%", 100 * *prediction.accuracy)
                          : "the data has labels that the model does not know, so nobody can say "
                            "how many are right";
  return cat(asked.data, ": ", prediction.rows, " rows, ", prediction.positive,
             " of the higher label; ", right, "\n");
}

std::string prediction_json(const OptArguments& asked, const Prediction& prediction) {
  return dumped({{"command", asked.command},
                 {"rows", prediction.rows},
                 {"positive", prediction.positive},
                 {"accuracy", or_null(prediction.accuracy)}});
}

}  // namespace unisono::tools
