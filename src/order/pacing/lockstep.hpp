// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Wraps any order so that its members negotiate in rounds: a wave up a tree of all members and one
// back down, also when there is nothing to say (the pacings cycle, gs and nbcs).
//
// A member enters a round when its sleep is over, and hands over what was submitted since the last
// one. A member without children sends its wave up at once, any other when all of its children's
// have come; the first member turns the wave round, and whoever gets it back passes it on and
// sleeps. The wrapped order speaks at those two points only. What it says to a tree neighbour rides
// in the wave; what it says to others goes directly, and makes the receiver speak when it arrives.
// When a member leaves, no wave can end any more: from then on everything passes at once.
// Thread: the owner's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "order/messages/tree_shape.hpp"
#include "order/order.hpp"
#include "order/pacing/pacing.hpp"

namespace unisono::order {

class Lockstep final : public Order {
 public:
  // settings.pacing is one of the table's except event.
  Lockstep(std::unique_ptr<Order> inner, Members members, const OrderSettings& settings);

  std::string_view name() const override { return inner_->name(); }
  void submit(Request request, Time now) override;
  Status receive(Rank from, std::span<const std::byte> message, Time now) override;
  void negotiate(Time now, OrderOutput& out) override;
  void member_left(Rank rank, Time now) override;
  void leave(Time now) override {
    inner_->leave(now);
    speak_again_ = true;
  }
  void ended(std::uint64_t sequence, PlanVote vote, Time now) override {
    inner_->ended(sequence, vote, now);
  }
  void observed(std::uint64_t sequence) override;
  bool watches() const override { return inner_->watches(); }
  std::vector<Request> release() override;
  Time deadline() const override;
  std::size_t waiting() const override { return inner_->waiting() + held_.size(); }
  OrderCounts counts() const override { return inner_->counts(); }
  OrderState state() const override { return inner_->state(); }

  // From entering a round until it ends, where the pacing spins; a simulator takes the core away.
  bool blocking() const override { return spins_ && phase_ != Phase::asleep && !broken_; }
  bool in_round() const { return phase_ != Phase::asleep; }
  std::uint64_t rounds() const { return round_; }  // ended here
  Nanos time_in_rounds() const { return in_rounds_; }
  Nanos last_round() const { return last_round_; }
  Time last_begin() const { return begun_; }

 private:
  using Riders = std::vector<std::vector<std::byte>>;
  enum class Phase : std::uint8_t {
    asleep,                             // until next_begin_
    gathering,                          // entered; waits for the children's waves
    raised,                             // sent up; waits for the parent's wave
  };
  int parent() const { return shape_.parent(me_); }
  int first_child() const { return shape_.first_child(me_); }
  bool is_child(int index) const { return shape_.is_child(index, me_); }
  Status receive_up(Rank from, int child, const Wave& wave, Time now);
  Status receive_down(Rank from, int member, const Wave& wave);
  void enter(Time now);
  void hand_over(Time now);
  void speak(Time now, OrderOutput& out);
  void raise(Time now, OrderOutput& out);
  void lower(Time now, Nanos agreed, OrderOutput& out);
  void pass_everything(Time now, OrderOutput& out);
  bool agrees_on_sleep() const { return pacing_ == Pacing::gs && round_ % gs_cycles_ == 0; }

  std::unique_ptr<Order> inner_;
  const Members members_;
  const int me_;
  const TreeShape shape_;
  const int children_;
  const Pacing pacing_;
  const bool spins_;
  const std::uint64_t gs_cycles_;
  const Nanos cycle_;

  Phase phase_ = Phase::asleep;
  bool speak_again_ = false;            // the wrapped order has more to say than one round
  bool broken_ = false;
  bool down_here_ = false;              // the parent's wave of this round has come
  Nanos down_sleep_{0};
  std::uint64_t round_ = 0;
  int ups_ = 0;                         // children's waves of this round
  std::vector<bool> up_from_;           // by child
  Time wanted_ = kNever;                // gs: earliest begin wanted in this subtree
  Time begun_{0};
  Time next_begin_{0};
  Nanos in_rounds_{0}, last_round_{0};
  std::vector<Request> held_;           // submitted since this member entered the last round
  // Observed meanwhile: after how many of those, and what.
  std::vector<std::pair<std::size_t, std::uint64_t>> held_observed_;
  Riders to_parent_;
  std::vector<Riders> to_children_;
};

std::unique_ptr<Lockstep> make_lockstep(std::unique_ptr<Order> inner, Members members,
                                        const OrderSettings& settings);

}  // namespace unisono::order
