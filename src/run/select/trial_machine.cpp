// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/select/trial_machine.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/data/text.hpp"

namespace unisono::run {
namespace {

// Whoever leaves one meeting early waits longer in the next, so two count together.
constexpr std::size_t kTogether = 2;

class TrialMachine final : public move::CollectiveMachine {
 public:
  TrialMachine(std::unique_ptr<CollectiveMachine> tried, const TrialContexts& contexts,
               const Trial& trial)
      : tried_(std::move(tried)), contexts_(contexts), trial_(trial),
        packing_(trial.clock->now() - trial.choice.begun) {
    meetings_.push_back(move::make_barrier(contexts_[0]));
  }

  move::Step step() override {
    bool advanced = false;
    while (true) {
      const move::Step step = current().step();
      if (step != move::Step::finished) {
        return advanced ? move::Step::advanced : step;
      }
      advanced = true;
      if (agreement_ != nullptr) {
        finish();
        return move::Step::finished;
      }
      next();
    }
  }

  std::string describe() const override {
    return cat(stage_ == Stage::trial ? "" : "the time of a trial: ", current().describe());
  }
  bool ready() const override { return current().ready(); }
  PlanVote vote() const override { return tried_->vote(); }
  const Status& trouble() const override { return current().trouble(); }
  void abandon() override {
    tried_->abandon();
    for (const auto& meeting : meetings_) meeting->abandon();
    if (agreement_ != nullptr) agreement_->abandon();
  }

 private:
  CollectiveMachine& current() const {
    if (agreement_ != nullptr) return *agreement_;
    return stage_ == Stage::trial ? *tried_ : *meetings_.back();
  }

  // What was current has finished.
  void next() {
    const Time now = trial_.clock->now();
    if (stage_ == Stage::before) {
      stage_ = Stage::trial;
      begun_ = now;
      return;
    }
    // The first meeting after the trial ends it, the others are timed.
    const std::size_t met = meetings_.size();
    if (met == 2) taken_ = now - begun_;
    if (met >= 2) met_.push_back(now);
    stage_ = Stage::after;
    if (met == kMeetings) return begin_agreement();
    meetings_.push_back(move::make_barrier(contexts_[met]));
  }

  // The least that the timed meetings took: one that was disturbed does not count.
  double meeting_s() const {
    Nanos least = Nanos::max();
    for (std::size_t i = kTogether; i < met_.size(); ++i) {
      least = std::min(least, met_[i] - met_[i - kTogether]);
    }
    return nanos_to_seconds(least) / static_cast<double>(kTogether);
  }

  void begin_agreement() {
    // Tensors leave the buffer after the members have parted, which takes as long as it took them
    // to come there; an algorithm that needs no buffer saves both.
    const Nanos taken = taken_ + 2 * packing_;
    const bool called_off = tried_->vote() == PlanVote::abort;
    const double remembered = trial_.selector->remembered(trial_.choice);
    numbers_ = {called_off ? std::numeric_limits<double>::infinity() : nanos_to_seconds(taken),
                remembered, -remembered, meeting_s()};
    agreement_ = move::make_allreduce("recursive_doubling", contexts_[kMeetings], DType::f64,
                                      ReduceOp::min, std::as_writable_bytes(std::span(numbers_)));
  }

  void finish() {
    if (learned_) return;
    learned_ = true;
    const bool alike = numbers_[1] == -numbers_[2];
    trial_.selector->learn(trial_.choice, {numbers_[0], alike ? static_cast<int>(numbers_[1]) : -1,
                                           numbers_[3]});
  }

  std::unique_ptr<CollectiveMachine> tried_, agreement_;
  std::vector<std::unique_ptr<CollectiveMachine>> meetings_;
  const TrialContexts contexts_;
  const Trial trial_;
  const Nanos packing_;
  enum class Stage { before, trial, after } stage_ = Stage::before;
  Time begun_ = {};                         // the trial
  std::vector<Time> met_;                   // when each meeting after it ended
  Nanos taken_{0};
  std::array<double, 4> numbers_{};         // seconds, what is remembered, its negative, a meeting
  bool learned_ = false;
};

}  // namespace

std::unique_ptr<move::CollectiveMachine> make_trial_machine(
    std::unique_ptr<move::CollectiveMachine> tried, const TrialContexts& contexts,
    const Trial& trial) {
  return std::make_unique<TrialMachine>(std::move(tried), contexts, trial);
}

}  // namespace unisono::run
