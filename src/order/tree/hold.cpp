// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/tree/hold.hpp"

#include <algorithm>
#include <iterator>

#include "base/check.hpp"

namespace unisono::order {

HeldParcels::HeldParcels(TreeShape shape, int me, Nanos patience)
    : shape_(shape), me_(me), parts_(1 + shape.child_count(me)), patience_(patience),
      joined_(shape.members) {}

MemberBits HeldParcels::subtree_of(int part) const {
  if (part > 0) return shape_.subtree(shape_.first_child(me_) + part - 1);
  MemberBits bits(shape_.members);
  bits.set(me_);
  return bits;
}

MemberBits HeldParcels::members_of(const Held& held) const {
  MemberBits bits(shape_.members);
  held.parts.each([&](int part) { bits.add(subtree_of(part)); });
  return bits;
}

std::vector<HeldParcels::Held*> HeldParcels::touched_by(const ParcelView& parcel) const {
  std::vector<Held*> touched;
  const auto note = [&](const auto& map, std::string_view key) {
    const auto it = map.find(key);
    if (it == map.end()) return;
    if (std::find(touched.begin(), touched.end(), it->second) == touched.end()) {
      touched.push_back(it->second);
    }
  };
  for (const RequestSlice& request : parcel.requests) note(names_, request.name);
  if (!parcel.group.empty()) note(groups_, parcel.group);
  return touched;
}

bool HeldParcels::holds(const ParcelView& parcel) const {
  const auto it = names_.find(parcel.requests.front().name);
  return it != names_.end() && std::equal(parcel.bytes.begin(), parcel.bytes.end(),
                                          it->second->bytes.begin(), it->second->bytes.end());
}

bool HeldParcels::must_pass(const ParcelView& parcel) const {
  if (pass_all_ || parcel.join || !joined_.empty()) return true;
  if (passing_.empty()) return false;
  return std::any_of(parcel.requests.begin(), parcel.requests.end(), [&](const auto& request) {
    return passing_.contains(std::string(request.name));
  });
}

void HeldParcels::add_whole(int part, const ParcelView& parcel, Time since, Time now,
                            UpBatch& out) {
  const bool late = patience_ > Nanos(0) && now - since >= patience_;
  if (late || must_pass(parcel)) {
    pass(subtree_of(part), parcel, since, now, out);
    return;
  }
  const auto touched = touched_by(parcel);
  if (touched.empty()) {
    hold(part, parcel, since);
    return;
  }
  Held& held = *touched.front();
  if (touched.size() > 1 || !holds(parcel) || held.parts.test(part)) {
    pass(subtree_of(part), parcel, since, now, out);
    return;
  }
  held.parts.set(part);
  held.since = std::min(held.since, since);
  if (held.parts.count() < parts_) return;
  out.whole(held.bytes, now - held.since);
  drop(held);
}

void HeldParcels::add_some(const MemberBits& members, const ParcelView& parcel, Time since,
                           Time now, UpBatch& out) {
  pass(members, parcel, since, now, out);
}

void HeldParcels::pass(const MemberBits& members, const ParcelView& parcel, Time since, Time now,
                       UpBatch& out) {
  if (parcel.join) {
    // What was submitted before the join must be seen before it.
    flush_all(now, out);
    joined_.add(members);
    out.some(members, parcel.bytes, now - since);
    return;
  }
  for (Held* held : touched_by(parcel)) flush(*held, now, out);
  out.some(members, parcel.bytes, now - since);
  for (const RequestSlice& request : parcel.requests) {
    passing_.try_emplace(std::string(request.name), shape_.members).first->second.add(members);
  }
}

void HeldParcels::hold(int part, const ParcelView& parcel, Time since) {
  held_.push_back({{parcel.bytes.begin(), parcel.bytes.end()}, {}, MemberBits(parts_), since, {}});
  Held& held = held_.back();
  held.self = std::prev(held_.end());
  held.parts.set(part);
  auto view = view_parcel(held.bytes);
  UNISONO_CHECK(view.has_value());
  held.view = std::move(*view);
  for (const RequestSlice& request : held.view.requests) names_.emplace(request.name, &held);
  if (!held.view.group.empty()) groups_.emplace(held.view.group, &held);
  if (patience_ > Nanos(0)) next_flush_ = std::min(next_flush_, since + patience_);
}

void HeldParcels::flush(Held& held, Time now, UpBatch& out) {
  const MemberBits members = members_of(held);
  out.some(members, held.bytes, now - held.since);
  for (const RequestSlice& request : held.view.requests) {
    passing_.try_emplace(std::string(request.name), shape_.members).first->second.add(members);
  }
  drop(held);
}

void HeldParcels::drop(Held& held) {
  for (const RequestSlice& request : held.view.requests) {
    const auto it = names_.find(request.name);
    if (it != names_.end() && it->second == &held) names_.erase(it);
  }
  if (!held.view.group.empty()) groups_.erase(held.view.group);
  held_.erase(held.self);
  if (held_.empty()) next_flush_ = kNever;
}

void HeldParcels::flush_all(Time now, UpBatch& out) {
  while (!held_.empty()) flush(held_.front(), now, out);
}

void HeldParcels::pass_everything(Time now, UpBatch& out) {
  pass_all_ = true;
  flush_all(now, out);
}

void HeldParcels::flush_due(Time now, UpBatch& out) {
  if (now < next_flush_) return;
  Time next = kNever;
  for (auto it = held_.begin(); it != held_.end();) {
    Held& held = *it++;
    if (now - held.since >= patience_) {
      flush(held, now, out);
    } else {
      next = std::min(next, held.since + patience_);
    }
  }
  next_flush_ = next;
}

void HeldParcels::inquire(std::string_view name, Time now, UpBatch& out) {
  if (const auto it = names_.find(name); it != names_.end()) flush(*it->second, now, out);
  passing_.try_emplace(std::string(name), shape_.members);
}

void HeldParcels::answered(std::string_view name, const MemberBits* counted) {
  if (passing_.empty()) return;
  const auto it = passing_.find(std::string(name));
  if (it == passing_.end()) return;
  if (counted != nullptr) it->second.remove(*counted);
  if (counted == nullptr || it->second.empty()) passing_.erase(it);
}

void HeldParcels::join_answered(const MemberBits* counted) {
  if (counted == nullptr) {
    joined_ = MemberBits(shape_.members);
  } else {
    joined_.remove(*counted);
  }
}

}  // namespace unisono::order
