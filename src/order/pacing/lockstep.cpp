// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/pacing/lockstep.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "order/messages/messages.hpp"

namespace unisono::order {
namespace {

const PacingRow& row_of(const OrderSettings& settings) {
  const PacingRow* row = find_pacing(settings.pacing);
  UNISONO_CHECK(row != nullptr && row->pacing != Pacing::event);
  return *row;
}

}  // namespace

Lockstep::Lockstep(std::unique_ptr<Order> inner, Members members, const OrderSettings& settings)
    : inner_(std::move(inner)), members_(std::move(members)), me_(members_.me),
      shape_{members_.count(), std::max(settings.tree_radix, 1)},
      children_(shape_.child_count(me_)), pacing_(row_of(settings).pacing),
      spins_(row_of(settings).spins),
      gs_cycles_(static_cast<std::uint64_t>(std::max(settings.gs_cycles, 1))),
      cycle_(settings.cycle), up_from_(static_cast<std::size_t>(children_)),
      to_children_(static_cast<std::size_t>(children_)) {
  UNISONO_CHECK(me_ >= 0);
}

void Lockstep::submit(Request request, Time now) {
  if (broken_) {
    inner_->submit(std::move(request), now);
  } else {
    held_.push_back(std::move(request));
  }
}

void Lockstep::observed(std::uint64_t sequence) {
  if (held_.empty()) {
    inner_->observed(sequence);
  } else {
    held_observed_.emplace_back(held_.size(), sequence);
  }
}

// Hands over in the order in which it happened. The memory goes back as well: thousands of members
// may live in one process.
void Lockstep::hand_over(Time now) {
  std::vector<Request> held = std::exchange(held_, {});
  const auto observed = std::exchange(held_observed_, {});
  auto next = observed.begin();
  for (std::size_t i = 0; i < held.size(); ++i) {
    for (; next != observed.end() && next->first == i; ++next) inner_->observed(next->second);
    inner_->submit(std::move(held[i]), now);
  }
  for (; next != observed.end(); ++next) inner_->observed(next->second);
}

Status Lockstep::receive(Rank from, std::span<const std::byte> message, Time now) {
  const int member = members_.index_of(from);
  if (member < 0) return malformed(from, "the sender is not a member of the process set");
  auto wave = decode_wave(from, message);
  if (!wave.ok()) return wave.status();
  if (!broken_) {
    Status status;
    if (wave->kind == WaveKind::up) status = receive_up(from, member, wave.value(), now);
    if (wave->kind == WaveKind::down) status = receive_down(from, member, wave.value());
    if (!status.ok()) return status;
  }
  for (const auto rider : wave->riders) {
    if (Status status = inner_->receive(from, rider, now); !status.ok()) return status;
  }
  if (wave->kind == WaveKind::loose) speak_again_ = true;
  return {};
}

Status Lockstep::receive_up(Rank from, int child, const Wave& wave, Time now) {
  if (!is_child(child)) return malformed(from, "only children send waves up");
  const auto index = static_cast<std::size_t>(child - first_child());
  if (wave.round != round_ || up_from_[index] || phase_ == Phase::raised) {
    return malformed(from, "it sent a wave of another round");
  }
  up_from_[index] = true;
  ++ups_;
  wanted_ = std::min(wanted_, now + wave.sleep);
  return {};
}

Status Lockstep::receive_down(Rank from, int member, const Wave& wave) {
  if (me_ == 0 || member != parent()) return malformed(from, "only the parent sends waves down");
  if (phase_ != Phase::raised || wave.round != round_ || down_here_) {
    return malformed(from, "it sent a wave of another round");
  }
  down_here_ = true;
  down_sleep_ = wave.sleep;
  return {};
}

void Lockstep::negotiate(Time now, OrderOutput& out) {
  if (broken_) return pass_everything(now, out);
  const std::size_t responses = out.responses.size();
  if (phase_ == Phase::asleep && now >= next_begin_) enter(now);
  if (phase_ == Phase::gathering && ups_ == children_) {
    speak(now, out);
    if (me_ == 0) {
      lower(now, std::max(wanted_ - now, Nanos(0)), out);
    } else {
      raise(now, out);
    }
  } else if (phase_ == Phase::raised && down_here_) {
    speak(now, out);
    lower(now, down_sleep_, out);
  } else if (speak_again_) {
    speak(now, out);
  }
  // One call gives out one round of responses at most; the engine comes back for the rest.
  if (out.responses.size() > responses && inner_->deadline() <= now) speak_again_ = true;
}

void Lockstep::enter(Time now) {
  phase_ = Phase::gathering;
  begun_ = now;
  wanted_ = std::min(wanted_, now + cycle_);
  hand_over(now);
}

// Lets the wrapped order run, and sorts what it says by the way it goes.
void Lockstep::speak(Time now, OrderOutput& out) {
  speak_again_ = false;
  const std::size_t first = out.messages.size();
  inner_->negotiate(now, out);
  std::size_t kept = first;
  for (std::size_t i = first; i < out.messages.size(); ++i) {
    OrderMessage& message = out.messages[i];
    const int to = members_.index_of(message.to);
    if (me_ != 0 && to == parent()) {
      to_parent_.push_back(std::move(message.bytes));
    } else if (is_child(to)) {
      to_children_[static_cast<std::size_t>(to - first_child())].push_back(
          std::move(message.bytes));
    } else {
      Riders alone;
      alone.push_back(std::move(message.bytes));
      out.messages[kept++] = {message.to, encode_wave(WaveKind::loose, 0, Nanos(0), alone)};
    }
  }
  out.messages.resize(kept);
}

void Lockstep::raise(Time now, OrderOutput& out) {
  out.messages.push_back({members_.rank_of(parent()),
                          encode_wave(WaveKind::up, round_, wanted_ - now, to_parent_)});
  to_parent_.clear();
  phase_ = Phase::raised;
}

void Lockstep::lower(Time now, Nanos agreed, OrderOutput& out) {
  for (int child = 0; child < children_; ++child) {
    Riders& riders = to_children_[static_cast<std::size_t>(child)];
    out.messages.push_back({members_.rank_of(first_child() + child),
                            encode_wave(WaveKind::down, round_, agreed, riders)});
    riders.clear();
  }
  last_round_ = now - begun_;
  in_rounds_ += last_round_;
  next_begin_ = agrees_on_sleep() ? now + agreed : std::max(now, begun_ + cycle_);
  phase_ = Phase::asleep;
  down_here_ = false;
  ups_ = 0;
  up_from_.assign(up_from_.size(), false);
  wanted_ = kNever;
  ++round_;
}

void Lockstep::member_left(Rank rank, Time now) {
  if (members_.index_of(rank) >= 0 && !broken_) {
    broken_ = true;
    hand_over(now);
  }
  inner_->member_left(rank, now);
  speak_again_ = true;
}

void Lockstep::pass_everything(Time now, OrderOutput& out) {
  speak(now, out);
  const auto send = [&](int index, Riders& riders) {
    if (riders.empty()) return;
    out.messages.push_back(
        {members_.rank_of(index), encode_wave(WaveKind::loose, 0, Nanos(0), riders)});
    riders.clear();
  };
  if (me_ != 0) send(parent(), to_parent_);
  for (int child = 0; child < children_; ++child) {
    send(first_child() + child, to_children_[static_cast<std::size_t>(child)]);
  }
}

std::vector<Request> Lockstep::release() {
  std::vector<Request> all = inner_->release();
  std::move(held_.begin(), held_.end(), std::back_inserter(all));
  held_.clear();
  held_observed_.clear();
  return all;
}

Time Lockstep::deadline() const {
  if (broken_) return speak_again_ ? Time{0} : inner_->deadline();
  if (speak_again_) return Time{0};
  switch (phase_) {
    case Phase::asleep: return next_begin_;
    case Phase::gathering: return ups_ == children_ ? Time{0} : kNever;
    case Phase::raised: return down_here_ ? Time{0} : kNever;
  }
  return kNever;
}

std::unique_ptr<Lockstep> make_lockstep(std::unique_ptr<Order> inner, Members members,
                                        const OrderSettings& settings) {
  return std::make_unique<Lockstep>(std::move(inner), std::move(members), settings);
}

}  // namespace unisono::order
