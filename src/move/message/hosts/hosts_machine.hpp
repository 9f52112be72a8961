// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What collectives share that bring data to each host once, by messages, and from there to its
// other ranks through shared memory. What passes through memory does so in chunks, a step for each,
// in an order that all members of a host know; a member begins one when the bytes that it shows are
// here, while the messages with later bytes are on their way. Whoever is alone on its host takes part
// in messages only.
// Thread: the one that drives the engine.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/data/text.hpp"
#include "move/host_team.hpp"
#include "move/local/local.hpp"

namespace unisono::move {

class HostsMachine : public CollectiveMachine {
 public:
  Step step() final {
    bool advanced = false;
    for (bool moved = true; moved; advanced = advanced || moved) {
      moved = step_wire();
      moved = step_memory() || moved;
    }
    if (chunks_done_ == chunks_ && wire_over_) return Step::finished;
    return advanced ? Step::advanced : Step::waiting;
  }

  bool ready() const final { return memory_ != nullptr && memory_->ready(); }
  void abandon() final {
    if (!wire_over_) wire_->abandon();
  }
  const Status& trouble() const final {
    if (!refusal_.ok()) return refusal_;
    return memory_ != nullptr ? memory_->trouble() : CollectiveMachine::trouble();
  }
  std::string describe() const final {
    std::string out = cat(name_, ", set ", context_.set, ", bucket ", context_.bucket, ": ",
                          chunks_done_, " chunks of ", chunks_, " shared on this host");
    if (memory_ != nullptr) out += cat("; ", memory_->describe());
    if (!wire_over_) out += cat("; ", wire_->describe());
    return out;
  }

 protected:
  // A window of each host team is sure to hold a chunk.
  static constexpr std::size_t kChunkBytes = 1 << 20;
  static_assert(kChunkBytes <= arena::kHostWindowBytes);

  HostsMachine(std::string name, MoveContext context)
      : context_(context), across_context_(context), name_(std::move(name)) {
    across_context_.members = &context.host->groups.across;
    across_context_.host = nullptr;
  }
  void use_wire(CollectiveMachine* wire) {
    wire_ = wire;
    wire_over_ = wire == nullptr;
  }

  // Whether the bytes that this member shows in the chunk are here.
  virtual bool is_here(std::size_t chunk) const = 0;
  // A step in memory, or none where nobody else takes part in the chunk.
  virtual std::unique_ptr<LocalCollective> share(const LocalTurn& turn, std::size_t chunk) = 0;
  // The chunk has been shared.
  virtual void note_shared(std::size_t /*chunk*/) {}
  // The machine can never finish.
  void refuse(Status why) { refusal_ = std::move(why); }

  const arena::HostGroups& groups() const { return context_.host->groups; }
  LocalTeam& team() const { return *context_.host->team; }
  bool is_alone() const { return groups().here.count() == 1; }

  const MoveContext context_;
  MoveContext across_context_;              // of those that stand for a place on their hosts
  std::size_t chunks_ = 0;

 private:
  bool step_wire() {
    if (wire_over_) return false;
    const Step step = wire_->step();
    wire_over_ = step == Step::finished;
    return step != Step::waiting;
  }
  bool step_memory() {
    if (memory_ == nullptr) {
      if (chunks_done_ == chunks_ || !refusal_.ok() || !is_here(chunks_done_)) return false;
      LocalTurn turn(team());
      turn.identity = context_.identity + chunks_done_;
      memory_ = share(turn, chunks_done_);
    }
    const Step step = memory_ != nullptr ? memory_->step() : Step::finished;
    if (step != Step::finished) return step == Step::advanced;
    memory_.reset();
    note_shared(chunks_done_++);
    return true;
  }

  const std::string name_;
  CollectiveMachine* wire_ = nullptr;
  bool wire_over_ = true;
  std::size_t chunks_done_ = 0;
  Status refusal_;
  std::unique_ptr<LocalCollective> memory_; // null between two steps
};

}  // namespace unisono::move
