// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.hpp"

#include <algorithm>
#include <cmath>

#include "base/data/text.hpp"
#include "processes/interrupt.hpp"
#include "model/options/option_values.hpp"

namespace unisono::tools {
namespace {

constexpr double kBlock_us = 50'000;
constexpr int kIterationsMin = 3, kIterationsMax = 20'000;

struct Entrant {
  Contender* contender = nullptr;
  int iterations = kIterationsMin;
  std::vector<double> times_us;
  double spent_us = 0;
  bool checked = true;
};

class Meeting {
 public:
  Meeting(const BenchSettings& settings, std::vector<std::unique_ptr<Contender>>& contenders,
          const Progress& progress)
      : settings_(settings), contenders_(contenders), progress_(progress) {}

  Measurement run() {
    const double rows = static_cast<double>(settings_.sizes.size() * settings_.dtypes.size());
    double row = 0;
    for (const DType dtype : settings_.dtypes) {
      for (const std::int64_t bytes : settings_.sizes) {
        measure_size(work_for(settings_.collective, dtype, bytes, settings_.ranks), row / rows,
                     1 / rows);
        row += 1;
        if (interrupted() != 0) return std::move(result_);
      }
    }
    if (settings_.explain) explain();
    return std::move(result_);
  }

 private:
  void explain() {
    for (const auto& contender : contenders_) {
      if (contender == nullptr) continue;
      const std::string heading = contender->label().heading();
      auto text = contender->explain();
      if (!text) {
        result_.notes.push_back(cat(heading, ": ", text.status().message()));
        result_.ours_failed = true;
      } else if (!text->empty()) {
        result_.explanations.push_back({heading, std::move(*text)});
      }
    }
  }

  void measure_size(const Work& work, double done, double share) {
    std::vector<Entrant> entrants;
    for (const auto& contender : contenders_) {
      if (contender == nullptr) continue;
      progress_(done, cat("warm-up ", contender->label().heading()));
      Entrant entrant{contender.get(), kIterationsMin, {}, 0, true};
      if (warm_up(entrant, work)) entrants.push_back(std::move(entrant));
      if (interrupted() != 0) return;
    }
    for (int round = 0; !enough(entrants, round); ++round) {
      const double part = std::min(1.0, static_cast<double>(round) / settings_.repetitions);
      for (std::size_t turn = 0; turn < entrants.size(); ++turn) {
        Entrant& entrant = entrants[(turn + static_cast<std::size_t>(round)) % entrants.size()];
        if (entrant.contender == nullptr) continue;
        progress_(done + share * part,
                  cat(format_bytes(work.bytes()), " ", entrant.contender->label().heading()));
        take_turn(entrant, round);
        if (interrupted() != 0) return;
      }
      rounds_ = round + 1;
    }
    for (const Entrant& entrant : entrants) {
      if (entrant.contender != nullptr) add_row(entrant, work);
    }
  }

  // Finds how many iterations make a block; returns false when the contender cannot do this work.
  bool warm_up(Entrant& entrant, const Work& work) {
    if (Status bad = entrant.contender->set_up(work); !bad.ok()) {
      report(entrant, bad, work);
      return false;
    }
    double each_us = 0;
    for (const int iterations : {kIterationsMin, 0}) {
      const int n = iterations > 0 ? iterations : blocks_of(each_us, kBlock_us / 5);
      auto block = entrant.contender->run_block(n, 1);
      if (!block) {
        report(entrant, block.status(), work);
        return false;
      }
      each_us = block->wall_us / n;
    }
    entrant.iterations = blocks_of(each_us, kBlock_us);
    return true;
  }

  static int blocks_of(double each_us, double wanted_us) {
    return static_cast<int>(std::clamp(wanted_us / std::max(each_us, 0.01),
                                       double{kIterationsMin}, double{kIterationsMax}));
  }

  bool enough(const std::vector<Entrant>& entrants, int round) const {
    if (entrants.empty()) return true;
    if (round < settings_.repetitions) return false;
    return std::all_of(entrants.begin(), entrants.end(), [&](const Entrant& entrant) {
      return entrant.contender == nullptr || entrant.spent_us >= settings_.min_time_s * 1e6;
    });
  }

  void take_turn(Entrant& entrant, int round) {
    auto block = entrant.contender->run_block(entrant.iterations, round + 2);
    if (!block) {
      report(entrant, block.status(), {});
      entrant.contender = nullptr;
      return;
    }
    entrant.times_us.insert(entrant.times_us.end(), block->times_us.begin(),
                            block->times_us.end());
    entrant.spent_us += block->wall_us;
    entrant.checked = entrant.checked && block->checked;
  }

  void add_row(const Entrant& entrant, const Work& work) {
    const Label& label = entrant.contender->label();
    Row row{label, work.collective, work.dtype, settings_.ranks, work.bytes(), 0, 0, 0, rounds_,
            static_cast<std::int64_t>(entrant.times_us.size()), entrant.checked};
    row.median_us = quantile(entrant.times_us, 0.5);
    row.p10_us = quantile(entrant.times_us, 0.1);
    row.p90_us = quantile(entrant.times_us, 0.9);
    if (!row.checked) {
      result_.notes.push_back(cat(label.heading(), ": WRONG RESULT at ", format_bytes(row.bytes)));
      result_.ours_failed = result_.ours_failed || label.ours();
    }
    result_.rows.push_back(std::move(row));
  }

  // Work that a contender cannot do is skipped; any other error ends its part in the run.
  void report(const Entrant& entrant, const Status& why, const Work& work) {
    if (interrupted() != 0) return;
    const Label label = entrant.contender->label();
    if (why.code() == Code::unavailable) {
      const std::string note = cat(label.heading(), ": ", why.message());
      if (std::find(result_.notes.begin(), result_.notes.end(), note) == result_.notes.end()) {
        result_.notes.push_back(note);
      }
      return;
    }
    result_.notes.push_back(cat(label.heading(), " failed",
                                work.elements > 0 ? cat(" at ", format_bytes(work.bytes())) : "",
                                ": ", why.to_string(), "\n", entrant.contender->last_words()));
    result_.ours_failed = result_.ours_failed || label.ours();
    for (auto& contender : contenders_) {
      if (contender.get() == entrant.contender) contender.reset();
    }
  }

  const BenchSettings& settings_;
  std::vector<std::unique_ptr<Contender>>& contenders_;
  const Progress& progress_;
  Measurement result_;
  int rounds_ = 0;
};

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

Measurement measure(const BenchSettings& settings,
                    std::vector<std::unique_ptr<Contender>>& contenders,
                    const Progress& progress) {
  return Meeting(settings, contenders, progress).run();
}

}  // namespace unisono::tools
