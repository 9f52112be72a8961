// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A vote by itself, before a planned bucket that cannot carry it: members tell each other whether
// they take part and which plan they begin, in one small allreduce of largest values. No tensor is
// touched. Members that begin different plans hold different buckets here, so nothing of the bucket
// but its position may decide how the ballot travels.
#include <array>

#include "move/local/local.hpp"
#include "run/kinds/kinds.hpp"
#include "run/kinds/over_memory.hpp"

namespace unisono::run {
namespace {

class BallotRun final : public OverMemory<BucketRun> {
 public:
  using OverMemory::OverMemory;

  Status start() override {
    const Response& mine = bucket_.responses.front();
    const auto choice = static_cast<std::int64_t>(mine.choice >> 1);
    told_ = {static_cast<std::int64_t>(mine.vote), choice, -choice};
    const auto told = std::as_writable_bytes(std::span(told_));
    if (context_.team != nullptr) {
      move::LocalTurn turn(*context_.team, bucket_, *context_.members);
      turn.identity = ballot_identity(bucket_);
      use(move::make_local_allreduce(
          turn, {.dtype = DType::i64,
                 .op = ReduceOp::max,
                 .items = {{told.data(), std::as_writable_bytes(std::span(heard_)).data(), 0,
                            told.size()}},
                 .bytes = told.size()}));
      return {};
    }
    heard_ = told_;
    move::MoveContext context = next_context();
    context.identity = ballot_identity(bucket_);
    context.host = nullptr;
    context.is_long = false;
    machine_ = move::make_allreduce("auto", context, DType::i64, ReduceOp::max,
                                    std::as_writable_bytes(std::span(heard_)));
    return {};
  }
  bool is_ballot() const override { return true; }

 private:
  // The largest choice and the least differ when two members differ.
  PlanVote moved_vote() const override {
    if (heard_[1] != -heard_[2]) return PlanVote::abort;
    return static_cast<PlanVote>(heard_[0]);
  }
  // What follows is the bucket itself.
  bool is_last_machine() const override { return false; }

  std::array<std::int64_t, 3> told_{}, heard_{};  // vote, choice, and the choice with another sign
};

}  // namespace

std::unique_ptr<BucketRun> make_ballot_run(RunParts parts) {
  return std::make_unique<BallotRun>(std::move(parts.bucket), std::move(parts.pendings),
                                     parts.context);
}

}  // namespace unisono::run
