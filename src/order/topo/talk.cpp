// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/topo/talk.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "order/messages/messages.hpp"
#include "order/messages/tree_shape.hpp"

namespace unisono::order {

TopoTalk::TopoTalk(const Members& members, int radix, SetId set, std::uint32_t channels)
    : members_(members), set_(set), channels_(channels) {
  const TreeShape shape{members.count(), radix};
  if (members.me > 0) parent_ = shape.parent(members.me);
  children_.resize(static_cast<std::size_t>(shape.child_count(members.me)));
  std::iota(children_.begin(), children_.end(), shape.first_child(members.me));
}

void TopoTalk::send(int member, const std::vector<std::byte>& bytes) {
  outbox_.push_back({members_.rank_of(member), bytes});
}

void TopoTalk::take_messages(std::vector<OrderMessage>& out) {
  std::move(outbox_.begin(), outbox_.end(), std::back_inserter(out));
  outbox_.clear();
}

Status TopoTalk::receive_lesson(Rank from, ByteReader& in) {
  const int child = members_.index_of(from);
  if (std::find(children_.begin(), children_.end(), child) == children_.end()) {
    return malformed(from, "it sends a lesson to a member that is not above it");
  }
  Lesson lesson = Lesson::decode(in);
  if (!in.finished()) return malformed(from, "it does not parse as a lesson");
  const auto [it, fresh] = below_.try_emplace(child);
  if (!fresh && it->second.attempt >= lesson.attempt) {
    return malformed(from, "it sends a lesson twice");
  }
  it->second = std::move(lesson);
  return {};
}

Status TopoTalk::pass_on(std::optional<Lesson>& of_all) {
  if (!own_) return {};
  for (const int child : children_) {
    const auto it = below_.find(child);
    if (it == below_.end() || it->second.attempt < own_->attempt) return {};
  }
  Lesson merged = std::move(*own_);
  own_.reset();
  for (const int child : children_) {
    Lesson& lesson = below_.find(child)->second;
    // The child is beyond this attempt: it came to nothing, and this member will see so, too.
    if (lesson.attempt > merged.attempt) return {};
    if (!merged.merge(lesson)) {
      return malformed(members_.rank_of(child), "it learned from other responses");
    }
    lesson.needs = {};                  // only its attempt counts from here on
    lesson.ready_ns = {};
  }
  if (leads()) {
    of_all = std::move(merged);
    return {};
  }
  ByteWriter out;
  out.put(TopoMessageType::lesson);
  merged.encode(out);
  send(parent_, out.take());
  return {};
}

void TopoTalk::send_plan(const TopoOffer& offer) {
  if (children_.empty()) return;
  ByteWriter out;
  out.put(TopoMessageType::plan);
  out.put(offer.attempt);
  out.put(offer.plan->hash());
  offer.plan->encode(out);
  const std::vector<std::byte> bytes = out.take();
  for (const int child : children_) send(child, bytes);
}

Result<TopoOffer> TopoTalk::receive_plan(Rank from, ByteReader& in) const {
  if (members_.index_of(from) != parent_) {
    return malformed(from, "it sends a plan to a member that is not below it");
  }
  TopoOffer offer;
  offer.attempt = in.get<std::uint64_t>();
  const auto hash = in.get<std::uint64_t>();
  offer.plan = TopoPlan::decode(in, set_, channels_);
  if (offer.plan == nullptr) return malformed(from, "it does not parse as a plan");
  const std::size_t rows = offer.plan->members();
  if (rows != 0 && rows != static_cast<std::size_t>(members_.count())) {
    return malformed(from, "its plan is for another number of members");
  }
  if (offer.plan->hash() != hash) return malformed(from, "its plan has another hash than it says");
  return offer;
}

void TopoTalk::send_nudge(const TopoNudge& nudge, Rank from) {
  if (nudged_phase_ && *nudged_phase_ >= nudge.phase) return;
  nudged_phase_ = nudge.phase;
  ByteWriter out;
  out.put(TopoMessageType::nudge);
  out.put(nudge.phase);
  out.put(nudge.position);
  const std::vector<std::byte> bytes = out.take();
  const int sender = members_.index_of(from);
  if (parent_ >= 0 && parent_ != sender) send(parent_, bytes);
  for (const int child : children_) {
    if (child != sender) send(child, bytes);
  }
}

Result<TopoNudge> TopoTalk::receive_nudge(Rank from, ByteReader& in) const {
  const int sender = members_.index_of(from);
  const bool near = sender == parent_ ||
                    std::find(children_.begin(), children_.end(), sender) != children_.end();
  if (!near) return malformed(from, "it sends a nudge to a member that is not next to it");
  TopoNudge nudge;
  nudge.phase = in.get<std::uint64_t>();
  nudge.position = in.get<std::uint64_t>();
  if (!in.finished()) return malformed(from, "it does not parse as a nudge");
  return nudge;
}

}  // namespace unisono::order
