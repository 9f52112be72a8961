// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Adasum over messages, composed of other collectives: an alltoall brings every member its share of
// all contributions, a small allreduce adds up the dot products, an allgather hands the combined
// shares to everyone.
// Steps: 4. Bytes sent per member: 2 (n-1)/n of the data, and n(n+1)/2 doubles per tensor.
#include <algorithm>

#include "base/data/text.hpp"
#include "move/adasum/adasum.hpp"
#include "move/collective.hpp"

namespace unisono::move {
namespace {

class AdasumMessages final : public CollectiveMachine {
 public:
  AdasumMessages(const AdasumContexts& contexts, DType dtype,
                 const std::vector<std::size_t>& counts, PlanVote vote, std::span<std::byte> data)
      : contexts_(contexts),
        data_(data),
        shares_(adasum::share_bytes(counts, members(), size_of(dtype))),
        own_(shares_[me()]),
        gathered_(own_ * members()),
        share_(dtype, members(), counts.size(),
               adasum::own_pieces(counts, members(), me(), size_of(dtype))) {
    for (std::size_t i = 0; i < members(); ++i) bases_.push_back(gathered_.data() + i * own_);
    sums_.resize(share_.grams().size() + kFlags);
    if (vote != PlanVote::run) sums_[share_.grams().size() + static_cast<std::size_t>(vote) - 1] = 1;
    machine_ = make_alltoall(contexts_[0], {data_, shares_, gathered_, Extents(members(), own_)});
  }

  Step step() override {
    switch (phase_) {
      case Phase::scatter:
        return after_machine([this] { phase_ = Phase::measure; });
      case Phase::measure:
        if (share_.measure(bases_)) add_up();
        return Step::advanced;
      case Phase::sum:
        return after_machine([this] { decide(); });
      case Phase::combine:
        if (share_.combine(bases_, own_base())) gather();
        return Step::advanced;
      case Phase::gather:
        return after_machine([this] { phase_ = Phase::finished; });
      case Phase::finished:
        break;
    }
    return Step::finished;
  }

  std::string describe() const override {
    if (phase_ == Phase::finished) return "adasum: finished";
    return machine_ == nullptr ? std::string("adasum: computing")
                               : cat("adasum: ", machine_->describe());
  }
  PlanVote vote() const override { return vote_; }
  bool ready() const override {
    return phase_ == Phase::measure || phase_ == Phase::combine || phase_ == Phase::finished;
  }

 private:
  enum class Phase : std::uint8_t { scatter, measure, sum, combine, gather, finished };
  // After the sums: how many voted for each vote but run.
  static constexpr auto kFlags = static_cast<std::size_t>(PlanVote::abort);

  std::size_t members() const { return static_cast<std::size_t>(contexts_[0].n()); }
  std::size_t me() const { return static_cast<std::size_t>(contexts_[0].me()); }
  std::byte* own_base() { return gathered_.data() + me() * own_; }

  template <typename Next>
  Step after_machine(Next next) {
    const Step step = machine_->step();
    if (step != Step::finished) return step;
    machine_.reset();
    next();
    return phase_ == Phase::finished ? Step::finished : Step::advanced;
  }

  void add_up() {
    phase_ = Phase::sum;
    std::copy(share_.grams().begin(), share_.grams().end(), sums_.begin());
    // This is the only algorithm that adds in member order, whatever the number of members.
    machine_ = make_allreduce("direct", contexts_[1], DType::f64, ReduceOp::sum,
                              std::as_writable_bytes(std::span(sums_)));
  }

  void decide() {
    const std::size_t sums = share_.grams().size();
    for (std::size_t i = 0; i < kFlags; ++i) {
      if (sums_[sums + i] != 0) vote_ = static_cast<PlanVote>(i + 1);
    }
    phase_ = vote_ == PlanVote::abort ? Phase::finished : Phase::combine;
    share_.decide(std::span(sums_).first(sums));
  }

  void gather() {
    phase_ = Phase::gather;
    // Whoever steps this machine does not know of memory that another one may wait for.
    MoveContext flat = contexts_[2];
    flat.host = nullptr;
    machine_ = make_allgather(flat, {own_base(), own_}, shares_, data_);
  }

  const AdasumContexts contexts_;
  const std::span<std::byte> data_;
  const Extents shares_;                    // bytes each member combines
  const std::size_t own_;
  std::vector<std::byte> gathered_;         // this member's share from every member, back to back
  adasum::Share share_;
  std::vector<const std::byte*> bases_;
  std::vector<double> sums_;
  Phase phase_ = Phase::scatter;
  PlanVote vote_ = PlanVote::run;
  std::unique_ptr<CollectiveMachine> machine_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_adasum(const AdasumContexts& contexts, DType dtype,
                                               const std::vector<std::size_t>& counts,
                                               PlanVote vote, std::span<std::byte> data) {
  return std::make_unique<AdasumMessages>(contexts, dtype, counts, vote, data);
}

}  // namespace unisono::move
