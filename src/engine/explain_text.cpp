// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/explain_text.hpp"

#include <array>
#include <cstdio>

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"

namespace unisono::engine {
namespace {

std::string figure(double us) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.*f", us < 10 ? 2 : us < 100 ? 1 : 0, us);
  return text.data();
}

std::string size_text(std::uint64_t bytes) {
  return bytes < 1024 ? cat(bytes, " B") : format_bytes(static_cast<std::int64_t>(bytes));
}

std::string line_of(const LinkFigures& link) {
  return cat("  ", link.link, ": ", figure(link.latency_us), " µs for the shortest message, ",
             figure(link.us_per_mib), " µs for each further MiB",
             link.measured ? "" : " (typical figures, not measured)", "\n");
}

std::string lines_of(const AlgorithmChoice& choice) {
  std::string out =
      cat("  ", choice.collective, ", set ", choice.set, choice.channel > 0 ? cat(", channel ", choice.channel) : "", ", ",
          size_text(choice.bytes_min), " up to ", size_text(choice.bytes_max + 1),
          choice.dtype.empty() ? "" : cat(", ", choice.dtype), choice.encoded ? ", encoded" : "", ": ",
          choice.algorithm, choice.frozen ? "" : " for now", "; ", choice.reason, ".\n",
          choice.candidates.empty() ? "" : cat("    of ", size_text(choice.bytes), ":\n"));
  for (const AlgorithmTrial& trial : choice.candidates) {
    out += cat("    ", trial.algorithm, ": ", figure(trial.predicted_us), " µs predicted, ",
               trial.runs > 0 ? cat(figure(trial.measured_us), " µs measured, the best of ",
                                    trial.runs, trial.runs == 1 ? " run" : " runs")
                              : std::string("never run"),
               "\n");
  }
  for (const AlgorithmTrial& trial : choice.others) {
    out += cat("    ", trial.algorithm, ": ", figure(trial.predicted_us), " µs predicted, not tried\n");
  }
  return out;
}

std::string lines_of(const SparseChoice& choice) {
  std::string out =
      cat("  ", choice.collective, ", set ", choice.set, ", ", choice.dtype, ", ",
          figure(choice.elements), " of ", choice.length, " elements on each rank: ",
          choice.algorithm, "; ", choice.reason, ".\n");
  for (const AlgorithmTrial& trial : choice.candidates) {
    out += cat("    ", trial.algorithm, ": ", figure(trial.predicted_us), " µs predicted\n");
  }
  return out;
}

}  // namespace

std::string explain_text(const Explanation& explanation) {
  std::string out;
  if (explanation.links.empty()) {
    out += "Links: not measured.\n";
  } else {
    out += "Links, as all ranks agreed on them\n";
    for (const LinkFigures& link : explanation.links) out += line_of(link);
    out += cat("  reducing: ", figure(explanation.reduce_us_per_mib), " µs for each MiB\n");
    out += cat("  merging sparse streams: ", figure(explanation.merge_ns_per_pair),
               " ns for each element\n");
  }
  if (explanation.choices.empty()) {
    out += "Algorithms: no dense collective has run over messages; ranks that share memory need "
           "none.\n";
  } else {
    out += "Algorithms over messages\n";
  }
  for (const AlgorithmChoice& choice : explanation.choices) out += lines_of(choice);
  if (!explanation.sparse.empty()) out += "Sparse streams\n";
  for (const SparseChoice& choice : explanation.sparse) out += lines_of(choice);
  return out;
}

}  // namespace unisono::engine
