// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What members under topo say to each other, over a tree of their indices: lessons up, merged on
// the way; plans down; nudges to everybody. In the steady state nothing at all.
// Decoding checks everything; malformed input is a Status naming the sender.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/members.hpp"
#include "order/order.hpp"
#include "order/topo/learn/iteration_learner.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {

enum class TopoMessageType : std::uint8_t { inner = 1, lesson = 2, plan = 3, nudge = 4 };

struct TopoNudge {
  std::uint64_t phase = 0;              // of following plans
  std::uint64_t position = 0;           // the last one the sender goes to
};
struct TopoOffer {
  std::uint64_t attempt = 0;
  std::shared_ptr<const TopoPlan> plan;
};

class TopoTalk {
 public:
  // `members` outlives this.
  TopoTalk(const Members& members, int radix, SetId set, std::uint32_t channels = 1);

  bool leads() const { return members_.me == 0; }
  // This member's lesson; the next pass_on() counts it.
  void learned(Lesson lesson) { own_ = std::move(lesson); }
  Status receive_lesson(Rank from, ByteReader& in);
  // Sends up what this member and all below it learned, once it is complete. The first member gets
  // the lesson of all instead.
  Status pass_on(std::optional<Lesson>& of_all);

  void send_plan(const TopoOffer& offer);
  Result<TopoOffer> receive_plan(Rank from, ByteReader& in) const;

  // Tells everybody, or everybody the sender does not reach; once for each phase.
  void send_nudge(const TopoNudge& nudge, Rank from = -1);
  Result<TopoNudge> receive_nudge(Rank from, ByteReader& in) const;

  bool has_messages() const { return !outbox_.empty(); }
  void take_messages(std::vector<OrderMessage>& out);

 private:
  void send(int member, const std::vector<std::byte>& bytes);

  const Members& members_;
  const SetId set_;
  const std::uint32_t channels_;        // of the set: plans name no other
  int parent_ = -1;                     // -1: the first member
  std::vector<int> children_;
  std::optional<Lesson> own_;
  std::map<int, Lesson> below_;         // the newest of each child
  std::optional<std::uint64_t> nudged_phase_;
  std::vector<OrderMessage> outbox_;
};

}  // namespace unisono::order
