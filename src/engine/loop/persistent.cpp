// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/persistent.hpp"
#include "run/make_run.hpp"

namespace unisono::engine {
namespace {
// A persistent operation holds no name.
const submit::ReleaseName kNoName = [](const Request&) {};
}  // namespace

PersistentRunner::PersistentRunner(PersistentParts parts) : parts_(std::move(parts)) {
  Response& agreed = parts_.response;
  agreed.tensors.front().kind = Collective::allreduce;
  const Request& tensor = agreed.tensors.front();
  prototype_ = {.id = 0,
                .set = agreed.set,
                .kind = Collective::allreduce,
                .dtype = tensor.dtype,
                .op = tensor.op,
                .responses = {agreed},
                .bytes = tensor.bytes()};
  prototype_.identity = identity_of(prototype_);
  next_move_ = agreed.sequence << 8;        // away from what had the same number before
  if (parts_.shared->network == nullptr) return;
  selector_ = std::make_unique<run::Selector>(run::SelectorParts{
      .options = parts_.shared->options, .network = parts_.shared->network,
      .members = &parts_.members, .host = parts_.host.get(),
      .remembered = parts_.shared->remembered, .set = agreed.set});
}

Status PersistentRunner::start(Pending& pending) {
  pending.request = prototype_.responses.front().tensors.front();
  std::vector<Pending> pendings;
  pendings.push_back(std::move(pending));
  active_ = run::make_run(
      prototype_, std::move(pendings),
      run::RunContext{parts_.shared->transport, &parts_.members, parts_.team.get(),
                      parts_.host.get(), parts_.shared->buffers, parts_.shared->options,
                      &next_move_, 1, run::persistent_moves(parts_.index), selector_.get(),
                      parts_.shared->clock, parts_.shared->codecs, parts_.shared->network, nullptr,
                      parts_.shared->explanations});
  ++started_;
  Status status = active_->start();
  if (!status.ok()) {
    active_->fail(status, kNoName);
    active_.reset();
  }
  return status;
}

bool PersistentRunner::advance() {
  if (active_ == nullptr) return false;
  const move::Step step = active_->step();
  if (step != move::Step::finished) return step == move::Step::advanced;
  observe::Counters::add(parts_.shared->counters->operations);
  ++completed_;
  active_->write_outputs();
  active_->resolve_tickets(kNoName);
  active_.reset();
  return true;
}

std::unique_ptr<run::BucketRun> PersistentRunner::end_after(std::uint64_t runs,
                                                            const Status& status) {
  if (runs < runs_max_) {
    runs_max_ = runs;
    left_ = status;
  }
  return active_ != nullptr && started_ > runs_max_ ? stop(left_) : nullptr;
}

const Status& PersistentRunner::refusal() const {
  static const Status kNone;
  return started_ >= runs_max_ ? left_ : kNone;
}

const Status& PersistentRunner::trouble() const {
  static const Status kNone;
  return active_ == nullptr ? kNone : active_->trouble();
}

std::unique_ptr<run::BucketRun> PersistentRunner::stop(const Status& status) {
  if (active_ != nullptr) active_->fail(status, kNoName);
  return std::move(active_);
}

}  // namespace unisono::engine
