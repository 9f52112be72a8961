// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A vote by itself, before a planned bucket that cannot carry it: members tell each other whether
// they take part, and which plan they begin or what they call, in one small allreduce of largest
// values. No tensor is touched. Members may hold different buckets here, so nothing of the bucket
// but its position may decide how the ballot travels.
//
// Where nobody was asked what the others call (Response::call), the numbers in which members may
// differ are told as well: the rows of a gather, whether parts are uneven, the elements of a sparse
// tensor. When they do differ, a gather of them follows at once, and the bucket then has them all.
#include <algorithm>
#include <array>

#include "base/data/hash.hpp"
#include "move/local/local.hpp"
#include "run/kinds/kinds.hpp"
#include "run/kinds/over_memory.hpp"

namespace unisono::run {
namespace {

// What a member may have that others need not.
std::int64_t number_of(const Request& request) {
  if (traits_of(request.kind).sparse) return static_cast<std::int64_t>(request.sparse.nnz);
  return traits_of(request.kind).free_rows && !request.shape.empty() ? request.shape.front() : 0;
}

class BallotRun final : public OverMemory<BucketRun> {
 public:
  using OverMemory::OverMemory;

  Status start() override {
    const Response& mine = bucket_.responses.front();
    const auto choice = static_cast<std::int64_t>((mine.call != 0 ? mine.call : mine.choice) >> 1);
    told_ = {static_cast<std::int64_t>(mine.vote), choice, -choice, 0, 0, 0};
    if (mine.call != 0) tell_numbers();
    const std::size_t words = mine.call != 0 ? told_.size() : kNumbers;
    const auto told = std::as_writable_bytes(std::span(told_).first(words));
    const auto heard = std::as_writable_bytes(std::span(heard_).first(words));
    if (context_.team != nullptr) {
      use(move::make_local_allreduce(
          turn(0), {.dtype = DType::i64,
                    .op = ReduceOp::max,
                    .items = {{told.data(), heard.data(), 0, told.size()}},
                    .bytes = told.size()}));
      return {};
    }
    heard_ = told_;
    machine_ = move::make_allreduce("auto", context(0), DType::i64, ReduceOp::max, heard);
    return {};
  }

  move::Step step() override {
    const move::Step step = BucketRun::step();
    if (step != move::Step::finished || bucket_.responses.front().call == 0 ||
        moved_vote() == PlanVote::abort) {
      return step;
    }
    if (gathering_) {
      settle_numbers();
      return step;
    }
    if (heard_[kUneven] != 0) {
      for (Request& tensor : bucket_.responses.front().tensors) {
        tensor.uneven = tensor.kind == Collective::alltoall;
      }
    }
    if (heard_[kNumbers] == -heard_[kNumbers + 1]) {
      all_numbers_.clear();
      for (int i = 0; i < context_.members->count(); ++i) {
        all_numbers_.insert(all_numbers_.end(), numbers_.begin(), numbers_.end());
      }
      settle_numbers();
      return step;
    }
    gather_numbers();
    return move::Step::advanced;
  }
  bool is_ballot() const override { return true; }

 private:
  // Vote, choice, the choice with another sign, a hash of the numbers, the same, uneven.
  static constexpr std::size_t kNumbers = 3, kUneven = 5;

  // The largest choice and the least differ when two members differ.
  PlanVote moved_vote() const override {
    if (heard_[1] != -heard_[2]) return PlanVote::abort;
    return static_cast<PlanVote>(heard_[0]);
  }
  // What follows is the bucket itself.
  bool is_last_machine() const override { return false; }

  move::LocalTurn turn(std::uint64_t which) const {
    move::LocalTurn turn(*context_.team, bucket_, *context_.members);
    turn.identity = ballot_identity(bucket_) + which;
    return turn;
  }
  move::MoveContext context(std::uint64_t which) const {
    move::MoveContext context = next_context();
    context.identity = ballot_identity(bucket_) + which;
    context.host = nullptr;
    context.is_long = false;
    return context;
  }

  void tell_numbers() {
    bool uneven = false;
    for (const Request& tensor : bucket_.responses.front().tensors) {
      numbers_.push_back(number_of(tensor));
      uneven |= tensor.uneven;
    }
    const auto hash =
        static_cast<std::int64_t>(hash_bytes(std::as_bytes(std::span(numbers_))) >> 1);
    told_[kNumbers] = hash;
    told_[kNumbers + 1] = -hash;
    told_[kUneven] = uneven ? 1 : 0;
  }

  void gather_numbers() {
    gathering_ = true;
    const auto members = static_cast<std::size_t>(context_.members->count());
    all_numbers_.resize(members * numbers_.size());
    const auto mine = std::as_bytes(std::span(numbers_));
    const auto all = std::as_writable_bytes(std::span(all_numbers_));
    const move::Extents each(members, mine.size());
    if (context_.team != nullptr) {
      use(move::make_local_allgather(turn(1), mine, each, all));
    } else {
      machine_ = move::make_allgather(context(1), mine, each, all);
    }
  }

  // The response gets what an order that asks would have put there.
  void settle_numbers() {
    Response& response = bucket_.responses.front();
    const std::size_t count = numbers_.size();
    response.extents.clear();
    const bool ragged = std::any_of(
        response.tensors.begin(), response.tensors.end(),
        [](const Request& tensor) { return traits_of(tensor.kind).has_extents(); });
    for (std::size_t i = 0; i < count; ++i) {
      Request& tensor = response.tensors[i];
      std::vector<std::int64_t> of_all;
      for (std::size_t at = i; at < all_numbers_.size(); at += count) {
        of_all.push_back(std::max<std::int64_t>(all_numbers_[at], 0));
      }
      if (traits_of(tensor.kind).sparse) {
        tensor.sparse.nnz_sum = 0;
        for (const std::int64_t nnz : of_all) {
          tensor.sparse.nnz = std::max(tensor.sparse.nnz, static_cast<std::uint64_t>(nnz));
          tensor.sparse.nnz_sum += static_cast<std::uint64_t>(nnz);
        }
      }
      if (!ragged) continue;
      response.extents.push_back(traits_of(tensor.kind).has_extents()
                                     ? std::move(of_all) : std::vector<std::int64_t>());
    }
  }

  std::array<std::int64_t, 6> told_{}, heard_{};
  std::vector<std::int64_t> numbers_, all_numbers_;  // of each tensor; of each member in turn
  bool gathering_ = false;                           // the machine moves them
};

}  // namespace

std::unique_ptr<BucketRun> make_ballot_run(RunParts parts) {
  return std::make_unique<BallotRun>(std::move(parts.bucket), std::move(parts.pendings),
                                     parts.context);
}

}  // namespace unisono::run
