// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/tree/tree.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace unisono::order {
namespace {

// Half of the time to a stall report or failure, whichever is first: by then the root has seen who
// is missing.
Nanos patience_of(const OrderSettings& settings) {
  const Nanos warning = settings.stall_warning, limit = settings.stall_limit;
  if (warning <= Nanos(0) || limit <= Nanos(0)) return std::max(warning, limit) / 2;
  return std::min(warning, limit) / 2;
}

}  // namespace

TreeOrder::TreeOrder(std::string_view name, Members members, const OrderSettings& settings,
                     bool caches)
    : name_(name), set_(settings.set),
      shape_{members.count(), std::max(2, settings.tree_radix)}, me_(members.me),
      caches_(caches && settings.cache_capacity > 0), local_(me_, settings.request_pool),
      cache_(settings.cache_capacity, settings.cache_pool), caching_(caches_),
      next_sequence_(settings.first_sequence) {
  for (int i = me_; i > 0;) {
    i = shape_.parent(i);
    ancestors_.push_back(members.rank_of(i));
  }
  for (int k = 0; k < shape_.child_count(me_); ++k) {
    children_.push_back({members.rank_of(shape_.first_child(me_) + k)});
  }
  const Nanos patience = patience_of(settings);
  if (!children_.empty()) {
    board_ = std::make_unique<CacheBoard>(1 + static_cast<int>(children_.size()), patience);
    if (me_ != 0) held_ = std::make_unique<HeldParcels>(shape_, me_, patience);
  }
  if (me_ != 0) return;
  root_ = std::make_unique<Root>(std::move(members), settings);
  if (shape_.deep()) root_->tally.inquire_first();
}

void TreeOrder::submit(Request request, Time now) {
  last_name_ = request.name;
  last_at_ = now;
  local_.submit(std::move(request), now);
}

Status TreeOrder::receive(Rank from, std::span<const std::byte> message, Time now) {
  if (me_ != 0 && from == ancestors_.front()) {
    return left_above_ ? Status{} : receive_down(message, now);
  }
  for (std::size_t k = 0; k < children_.size(); ++k) {
    if (children_[k].rank != from) continue;
    return children_[k].left ? Status{} : receive_up(static_cast<int>(k), message, now);
  }
  return malformed(from, "the sender is neither parent nor child of this rank");
}

void TreeOrder::negotiate(Time now, OrderOutput& out) {
  if (left_above_) {
    if (rounds_.empty()) fail_own(out);
    emit(out);
    return;
  }
  send_own(now);
  flush_late(now);
  if (root_) {
    decide(now, out);
    return;
  }
  for (const auto& message : relays_) post_down(message, out);
  relays_.clear();
  emit(out);
  if (batch_.empty()) return;
  out.messages.push_back({ancestors_.front(), batch_.encode(messages_up_++, round_)});
}

void TreeOrder::member_left(Rank rank, Time now) {
  if (std::find(ancestors_.begin(), ancestors_.end(), rank) != ancestors_.end()) {
    left_above_ = left_above_.value_or(rank);
    batch_.clear();
    relays_.clear();
    return;
  }
  for (Child& child : children_) child.left |= child.rank == rank;
  if (root_ && root_->members.index_of(rank) >= 0) root_->tally.leave(rank);
  if (held_) held_->pass_everything(now, batch_);
}

Time TreeOrder::deadline() const {
  if (!rounds_.empty() || !relays_.empty()) return Time{0};
  if (left_above_) return local_.waiting() > 0 ? Time{0} : kNever;
  const bool join_can_go = join_held_back_ != nullptr && bits_under_way_ == 0;
  if (local_.has_unsent() || join_can_go || !batch_.empty()) return Time{0};
  Time due = kNever;
  if (root_) {
    if (!root_->ready.empty() || !root_->erase.empty() || must_clear()) return Time{0};
    due = root_->tally.deadline();
  }
  if (held_) due = std::min(due, held_->deadline());
  if (board_) due = std::min(due, board_->deadline());
  return due;
}

std::unique_ptr<Order> make_tree(Members members, OrderSettings settings) {
  UNISONO_CHECK(members.me >= 0);
  return std::make_unique<TreeOrder>("tree", std::move(members), settings, false);
}

std::unique_ptr<Order> make_cache(Members members, OrderSettings settings) {
  UNISONO_CHECK(members.me >= 0);
  return std::make_unique<TreeOrder>("cache", std::move(members), settings, true);
}

}  // namespace unisono::order
