// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What goes up the tree: this member's own requests, and what its children sent.
#include <algorithm>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "order/tree/tree.hpp"

namespace unisono::order {

void TreeOrder::send_own(Time now) {
  if (local_.has_unsent()) {
    if (root_) root_->tally.heard_from(me_, last_name_, last_at_);
    sending_ = local_.unsent();
    for (Entry* entry : sending_) {
      if (entry->message == 0) entry->since = now;
    }
    local_.mark_sent();
    for (std::size_t i = 0; i < sending_.size();) {
      const Request& head = sending_[i]->request();
      const std::size_t length = head.group.empty() ? 1 : head.group_size;
      send_parcel(Parcel(sending_).subspan(i, length), now);
      i += length;
    }
  }
  if (join_held_back_ == nullptr || bits_under_way_ > 0) return;
  Entry* const join = std::exchange(join_held_back_, nullptr);
  send_request({&join, 1}, now);
}

void TreeOrder::send_parcel(Parcel parcel, Time now) {
  if (caching_ && send_bit(parcel, now)) return;
  if (parcel.front()->request().kind == Collective::join && bits_under_way_ > 0) {
    join_held_back_ = parcel.front();
    for (std::uint32_t position = 0; position < mine_.size(); ++position) {
      if (mine_[position] != nullptr) ask_erase(position);
    }
    return;
  }
  send_request(parcel, now);
}

// Sends a bit, and returns true, if the parcel is what this member sent when the response was
// cached. If the cache knows something else under one of its names, that has to go.
bool TreeOrder::send_bit(Parcel parcel, Time now) {
  const auto first = cache_.find(parcel.front()->request().name);
  bool same = first && cache_.at(first->position)->tensors.size() == parcel.size() &&
              cache_.own(*first) == parcel.front()->request();
  for (const Entry* entry : parcel.subspan(1)) {
    if (!same) break;
    const auto place = cache_.find(entry->request().name);
    same = place && place->position == first->position && cache_.own(*place) == entry->request();
  }
  if (!same) {
    for (const Entry* entry : parcel) {
      if (const auto place = cache_.find(entry->request().name)) ask_erase(place->position);
    }
    return false;
  }
  const std::uint32_t position = first->position;
  if (mine_.size() <= position) mine_.resize(cache_.positions());
  Entry** tail = &mine_[position];
  UNISONO_CHECK(*tail == nullptr);
  // Chained in the order of the cached response's tensors.
  for (const Request& tensor : cache_.at(position)->tensors) {
    Entry* const entry = parcel.size() == 1 ? parcel.front() : local_.find(tensor.name);
    entry->position = position;
    *tail = entry;
    tail = &entry->next;
  }
  *tail = nullptr;
  ++bits_under_way_;
  mark_ready(0, position, now);
  return true;
}

void TreeOrder::send_request(Parcel parcel, Time now) {
  Time since = now;
  for (const Entry* entry : parcel) since = std::min(since, entry->since);
  if (root_) {
    std::vector<Request> requests;
    for (const Entry* entry : parcel) requests.push_back(entry->request());
    const Status status = root_->tally.add(me_, std::move(requests), since);
    UNISONO_CHECK(status.ok());
    return;
  }
  const std::vector<std::byte> bytes = encode_parcel(parcel);
  if (!held_) {
    batch_.whole(bytes, now - since);
    return;
  }
  const auto view = view_parcel(bytes);
  UNISONO_CHECK(view.has_value());
  held_->add_whole(0, *view, since, now, batch_);
}

bool TreeOrder::mark_ready(int part, std::uint32_t position, Time now) {
  if (board_) {
    const auto added = board_->add(part, position, now);
    if (added != CacheBoard::Added::complete) return added == CacheBoard::Added::waits;
  }
  if (root_) {
    root_->ready.push_back(position);
  } else {
    batch_.ready(position);
  }
  return true;
}

void TreeOrder::ask_erase(std::uint32_t position) {
  if (asked_.size() <= position) asked_.resize(cache_.positions());
  if (asked_[position]) return;
  asked_[position] = true;
  if (root_) {
    root_->erase.push_back(position);
  } else {
    batch_.invalid(position);
  }
}

void TreeOrder::flush_late(Time now) {
  if (held_) held_->flush_due(now, batch_);
  if (!board_) return;
  for (const std::uint32_t position : board_->overdue(now)) ask_erase(position);
}

Status TreeOrder::receive_up(int child, std::span<const std::byte> message, Time now) {
  Child& sender = children_[static_cast<std::size_t>(child)];
  auto up = decode_up(sender.rank, message, shape_, shape_.first_child(me_) + child);
  if (!up.ok()) return up.status();
  if (up->number != sender.messages) return malformed(sender.rank, "it is out of sequence");
  if (up->round > round_) return malformed(sender.rank, "it knows rounds that were never sent");
  ++sender.messages;
  if (Status status = receive_positions(child, up.value(), now); !status) return status;
  for (const UpParcel& parcel : up->parcels) {
    if (Status status = receive_parcel(child, parcel, now); !status) return status;
  }
  for (LastActivity& activity : up->activities) {
    if (root_) {
      root_->tally.heard_from(activity.member, activity.name, now + -activity.age);
    } else {
      batch_.activity(std::move(activity));
    }
  }
  return {};
}

Status TreeOrder::receive_positions(int child, const UpMessage& up, Time now) {
  const Rank from = children_[static_cast<std::size_t>(child)].rank;
  for (const auto* positions : {&up.ready, &up.invalid}) {
    for (const std::uint32_t position : *positions) {
      if (position >= cache_.positions()) return malformed(from, "it names a position too high");
      // What the position meant to the sender is gone; it will learn that and send the request.
      if (cache_.changed_in(position) > up.round) continue;
      if (cache_.at(position) == nullptr) return malformed(from, "it names an empty position");
      if (positions == &up.invalid) {
        ask_erase(position);
      } else if (!mark_ready(child + 1, position, now)) {
        return malformed(from, "it submits a cached name twice");
      } else if (root_ && position == up.ready.back()) {
        const int index = shape_.first_child(me_) + child;
        if (shape_.child_count(index) <= 0) {
          root_->tally.heard_from(index, cache_.at(position)->tensors.back().name, now);
        }
      }
    }
  }
  return {};
}

Status TreeOrder::receive_parcel(int child, const UpParcel& up, Time now) {
  const Rank from = children_[static_cast<std::size_t>(child)].rank;
  const Time since = now + -up.age;
  if (held_) {
    if (!held_->holds(up.parcel)) {
      for (const RequestSlice& slice : up.parcel.requests) {
        if (auto request = decode_slice(from, slice); !request.ok()) return request.status();
      }
    }
    if (up.members) {
      held_->add_some(*up.members, up.parcel, since, now, batch_);
    } else {
      held_->add_whole(child + 1, up.parcel, since, now, batch_);
    }
    return {};
  }
  const int index = shape_.first_child(me_) + child;
  std::optional<MemberBits> members = up.members;
  if (!members && shape_.child_count(index) > 0) members = shape_.subtree(index);
  const bool one = !members || members->count() == 1;
  const Senders who = !members ? Senders(index) : one ? Senders(Senders(*members).first())
                                                      : Senders(*members);
  const Status status = root_->tally.add(who, up.parcel.requests, since);
  return status.ok() ? Status{} : malformed(from, status.message());
}

}  // namespace unisono::order
