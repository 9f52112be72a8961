// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How control messages reach their ranks. Where everybody is connected with everybody they are sent
// straight to them. Otherwise they go along a tree over all ranks (transport/mesh/overlay.hpp), in
// order, also where the way changes; and what concerns everybody is passed on by everybody, once.
#include <algorithm>

#include "engine/loop/loop.hpp"

namespace unisono::engine {
namespace {
constexpr std::size_t kBundleBytes = 1 << 20;
}  // namespace

void Loop::post(Rank to, const std::vector<std::byte>& message) {
  const Status status = LongMessages::cut(message, [&](std::span<const std::byte> part) {
    const Rank me = parts_.transport->rank();
    if (!parts_.overlay || parts_.overlay->adjacent(me, to)) {
      parts_.transport->post(to, part);
    } else {
      const bool asks_again = part.front() == static_cast<std::byte>(ControlKind::leave_request) ||
                              part.front() == static_cast<std::byte>(ControlKind::leave_granted);
      route({me, to, asks_again ? InOrder::kUnnumbered : in_order_.next_to(to)}, part);
    }
  });
  if (!status.ok()) fail_job(status);
}

// The next step of a message on its way. Where that leads through a rank that has left, or is about
// to, there is none but the straight one.
void Loop::route(const Route& way, std::span<const std::byte> message) {
  const Rank me = parts_.transport->rank();
  const Rank hop =
      parts_.overlay->adjacent(me, way.to) ? way.to : parts_.overlay->next_hop(me, way.to);
  const bool cut = gone_[static_cast<std::size_t>(hop)] || departing_.contains(hop);
  parts_.transport->post(cut ? way.to : hop, encode_routed(way, message));
}

void Loop::tell_everybody(const std::vector<std::byte>& message, Rank except) {
  const Rank me = parts_.transport->rank();
  if (parts_.overlay) {
    flooded_.emplace(me, next_flood_);
    floods_.push_back({{me, Route::kEverybody, next_flood_++}, message, me});
    return pass_on();
  }
  for (const PeerInfo& peer : parts_.peers) {
    if (peer.rank == me || peer.rank == except) continue;
    if (!gone_[static_cast<std::size_t>(peer.rank)]) parts_.transport->post(peer.rank, message);
  }
}

// What was told everybody goes on to those next to this rank. What came during one pass goes
// together: at the end of a job of thousands, everybody tells everybody that it leaves.
void Loop::pass_on() {
  if (floods_.empty()) return;
  const std::vector<Flood> floods = std::exchange(floods_, {});
  for (const Rank to : parts_.overlay->adjacent_to(parts_.transport->rank())) {
    if (gone_[static_cast<std::size_t>(to)]) continue;
    std::vector<std::vector<std::byte>> messages;
    std::size_t bytes = 0;
    const auto send = [&] {
      if (!messages.empty()) parts_.transport->post(to, encode_bundle(messages));
      messages.clear();
      bytes = 0;
    };
    for (const Flood& flood : floods) {
      if (to == flood.from || to == flood.route.origin) continue;
      messages.push_back(encode_routed(flood.route, flood.message));
      bytes += messages.back().size();
      if (bytes > kBundleBytes) send();
    }
    send();
  }
}

// Whether everybody next to this rank knows that it leaves, or is gone.
bool Loop::passed_by_all() const {
  const std::vector<Rank> next = parts_.overlay->adjacent_to(parts_.transport->rank());
  return std::all_of(next.begin(), next.end(), [this](Rank rank) {
    return gone_[static_cast<std::size_t>(rank)] || passed_by_.contains(rank);
  });
}

// A message for this rank, for another one, or for everybody.
void Loop::handle_routed(Rank from, const Control& control) {
  const Route& way = control.route;
  const Rank me = parts_.transport->rank();
  const auto exists = [&](Rank rank) { return rank >= 0 && rank < parts_.transport->size(); };
  const bool known = exists(way.origin) && way.origin != me &&
                     (exists(way.to) || way.to == Route::kEverybody);
  const bool nested = control.body.empty() || is_wrapped(control.body);
  if (!parts_.overlay || !known || nested) {
    // What this rank has told everybody comes back to it where the ways form circles.
    if (parts_.overlay && way.origin == me && way.to == Route::kEverybody) return;
    return fail_job(lost(from, Status(Code::corrupted, "a routed message makes no sense")));
  }
  if (way.to == me) {
    const bool can_be = in_order_.arrived(way.origin, way.number, control.body, [&](auto message) {
      if (failed_.ok()) handle(way.origin, message);
    });
    if (can_be) return;
    const Status why(Code::corrupted, "a routed message has a number that cannot be");
    return fail_job(lost(way.origin, why));
  }
  if (way.to != Route::kEverybody) {
    if (!gone_[static_cast<std::size_t>(way.to)]) route(way, control.body);
    return;
  }
  if (!flooded_.emplace(way.origin, way.number).second) return;
  floods_.push_back({way, {control.body.begin(), control.body.end()}, from});
  if (control.body.front() == static_cast<std::byte>(ControlKind::abort)) {
    abort_told_ = true;
  }
  handle(way.origin, control.body);
}

}  // namespace unisono::engine
