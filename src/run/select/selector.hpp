// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which algorithm the collectives of one channel run over messages. Pinned or deterministic, and
// where no costs are known, fixed rules say so (move/collective.hpp). Otherwise the best two or three
// by prediction take turns on the first buckets of a size class, and the fastest is kept. What a step
// takes in this engine is learned from barriers of the members after each trial, and after the very
// first bucket, which runs by the fixed rules.
// All members choose alike: a channel runs one bucket at a time, in the same order on all members,
// and what was measured comes back from the members' own agreement (trial_machine.hpp) before the
// next bucket begins. A bucket that fails teaches nothing.
// Thread: the engine's driver.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "cost/layout.hpp"
#include "cost/shortlist.hpp"
#include "move/collective.hpp"
#include "run/select/explanations.hpp"
#include "run/select/size_class.hpp"
#include "unisono/options.hpp"

namespace unisono::run {

// The algorithm over messages that the options ask for. Sums of deterministic runs have one order:
// an allreduce is "direct", others have no such name and follow fixed rules, flat where they reduce.
inline std::string_view algorithm_of(const Options& options,
                                     Collective kind = Collective::allreduce) {
  if (!options.deterministic) return options.algorithm;
  return kind == Collective::allreduce ? "direct" : "deterministic";
}

struct Choice {
  std::string_view algorithm = "auto";
  bool trial = false;                       // members agree afterwards on how long it took
  SizeClass of = {};
  Time begun = {};                          // when the bucket began, if it is a trial
  std::size_t bytes = 0;                    // of the bucket, if it is a trial
  bool opens = false;                       // the trial is of steps alone, before the first class
};

// What the members agreed on after a trial.
struct TrialResult {
  double seconds = 0;                       // with one meeting; infinite: it was called off
  int remembered = -1;                      // see Selector::remembered()
  double meeting_s = 0;                     // what a barrier of the members takes
};

struct SelectorParts {
  const Options* options = nullptr;
  const cost::Network* network = nullptr;
  const Members* members = nullptr;
  move::HostTeam* host = nullptr;
  RememberedChoices* remembered = nullptr;
  Explanations* explanations = nullptr;     // may be null
  SetId set = 0;
  int channel = 0;
};

class Selector {
 public:
  explicit Selector(SelectorParts parts);
  ~Selector();
  Selector(const Selector&) = delete;
  Selector& operator=(const Selector&) = delete;

  struct Question {
    DType dtype = DType::f32;               // in which the bucket is reduced
    std::size_t bytes = 0;                  // in that dtype, as choose_algorithm() counts them
    bool encoded = false;
    Collective kind = Collective::allreduce;
  };
  Choice choose(const Question& question, Time now);
  // What this rank's engine has chosen for such members before, as a number of an algorithm; -1 when
  // it does not know.
  int remembered(const Choice& choice) const;
  void learn(const Choice& choice, const TrialResult& result);
  // What an allreduce takes by the algorithm that is likely to carry it, and on the emulated network
  // if there is one; 0 seconds when nothing was measured. No algorithm: trials, or fixed rules, have
  // yet to say.
  struct Prediction {
    double seconds = 0;
    std::string_view algorithm;
    std::string reason;
  };
  Prediction predict(const Question& question) const;

  // How often each candidate of a class is tried. What takes microseconds is easily disturbed, and
  // costs little to repeat.
  static constexpr int runs_each(const SizeClass& of) {
    constexpr int kShortPower = 17;         // below 128 KiB
    return of.power <= kShortPower ? 7 : 3;
  }
  // What the fixed rules say is kept unless another is faster by more than chance.
  static constexpr double kByChance = 1.05;

 private:
  struct Tried {
    std::string_view algorithm;
    double predicted_s = 0, measured_s = 0;
    double met_s = 0;                       // the least that it took, with one meeting
    int runs = 0;
  };
  struct State {
    std::vector<Tried> candidates;
    std::vector<Tried> others;              // not worth a trial
    std::size_t bytes = 0;                  // of the first bucket, for which predictions are
    std::size_t next = 0;                   // whose turn it is
    double meeting_s = 0;                   // the least that one took in a trial of this class
    std::string_view usual;                 // by the fixed rules
    std::string_view chosen;
    bool frozen = false;
    std::string reason;
  };
  static SizeClass class_of(const Question& question);
  bool knows_steps() const { return !meetings_.empty(); }
  void note_meeting(double seconds);
  void note_run(State& state, const Choice& choice, const TrialResult& result) const;
  State open(const SizeClass& of, const Question& question) const;
  State fixed(const Question& question, std::string reason) const;
  std::string_view by_rule(const Question& question) const;
  double predicted(const SizeClass& of, std::string_view algorithm, std::size_t bytes) const;
  double corrected(const SizeClass& of, std::string_view algorithm, std::size_t bytes) const;
  void freeze(State& state, const SizeClass& of);
  void explain(const SizeClass& of, const State& state) const;

  SelectorParts parts_;
  const cost::Layout layout_;
  const move::MoveContext context_;
  cost::Costs costs_;                       // of the network, with steps as they take here
  std::vector<double> meetings_;            // the last few, in order
  DType opening_ = DType::f32;              // of the bucket that opens
  std::map<Collective, cost::Corrections> corrections_;
  std::map<SizeClass, State> states_;
};

}  // namespace unisono::run
