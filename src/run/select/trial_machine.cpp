// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/select/trial_machine.hpp"

#include <array>
#include <limits>

#include "base/data/text.hpp"

namespace unisono::run {
namespace {

class TrialMachine final : public move::CollectiveMachine {
 public:
  TrialMachine(std::unique_ptr<CollectiveMachine> tried, const move::MoveContext& meeting,
               const move::MoveContext& agreement, const Trial& trial)
      : tried_(std::move(tried)), meeting_context_(meeting), agreement_context_(agreement),
        trial_(trial), packing_(trial.clock->now() - trial.choice.begun) {}

  move::Step step() override {
    bool advanced = false;
    while (true) {
      const move::Step step = current().step();
      if (step != move::Step::finished) {
        return advanced ? move::Step::advanced : step;
      }
      if (agreement_ != nullptr) {
        finish();
        return move::Step::finished;
      }
      advanced = true;
      if (meeting_ == nullptr) {
        meeting_ = move::make_barrier(meeting_context_);
      } else {
        begin_agreement();
      }
    }
  }

  std::string describe() const override {
    return cat(&current() == tried_.get() ? "" : "the time of a trial: ", current().describe());
  }
  bool ready() const override { return current().ready(); }
  PlanVote vote() const override { return tried_->vote(); }
  const Status& trouble() const override { return current().trouble(); }
  void abandon() override {
    tried_->abandon();
    if (meeting_ != nullptr) meeting_->abandon();
    if (agreement_ != nullptr) agreement_->abandon();
  }

 private:
  CollectiveMachine& current() const {
    return agreement_ != nullptr ? *agreement_ : meeting_ != nullptr ? *meeting_ : *tried_;
  }

  void begin_agreement() {
    // Tensors leave the buffer after the members have parted, which takes as long as it took them
    // to come there; an algorithm that needs no buffer saves both.
    const Nanos taken = trial_.clock->now() - trial_.choice.begun + packing_;
    const bool called_off = tried_->vote() == PlanVote::abort;
    const double remembered = trial_.selector->remembered(trial_.choice);
    numbers_ = {called_off ? std::numeric_limits<double>::infinity() : nanos_to_seconds(taken),
                remembered, -remembered};
    agreement_ = move::make_allreduce("recursive_doubling", agreement_context_, DType::f64,
                                      ReduceOp::min, std::as_writable_bytes(std::span(numbers_)));
  }

  void finish() {
    if (learned_) return;
    learned_ = true;
    const bool alike = numbers_[1] == -numbers_[2];
    trial_.selector->learn(trial_.choice,
                           {numbers_[0], alike ? static_cast<int>(numbers_[1]) : -1});
  }

  std::unique_ptr<CollectiveMachine> tried_, meeting_, agreement_;
  const move::MoveContext meeting_context_, agreement_context_;
  const Trial trial_;
  const Nanos packing_;
  std::array<double, 3> numbers_{};         // seconds, what is remembered, and its negative
  bool learned_ = false;
};

}  // namespace

std::unique_ptr<move::CollectiveMachine> make_trial_machine(
    std::unique_ptr<move::CollectiveMachine> tried, const move::MoveContext& meeting,
    const move::MoveContext& agreement, const Trial& trial) {
  return std::make_unique<TrialMachine>(std::move(tried), meeting, agreement, trial);
}

}  // namespace unisono::run
