// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which members have submitted what. A unit, one tensor or one whole group, becomes ready as soon
// as every member has submitted it or has joined.
//
// Groups arrive whole (LocalQueue sees to it). Units are found by the names of their tensors and
// by the name of their group; a submission that connects two units makes them one, which can only
// fail, so members whose groups cannot match meet in one unit instead of waiting for ever.
// Cost of a submission, by one member or by a whole subtree: one hash lookup and a few words of
// bits; no work per member unless members differ.
// Thread: the owner's. References stay valid until take().
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "model/request.hpp"
#include "order/agree/join_state.hpp"
#include "order/messages/member_bits.hpp"

namespace unisono::order {

struct Unit;

struct Tensor {
  Request canonical;                    // of the first member that submitted
  MemberBits submitted;
  // Requests of members that sent something else; those that sent it together share it.
  std::vector<std::pair<int, std::shared_ptr<const Request>>> variants;
  std::vector<std::byte> encoded;       // the canonical request as a member sent it; may be empty
  Unit* unit = nullptr;

  // What the member sent; it must have submitted.
  const Request& of(int member) const;
};

struct Unit {
  std::vector<std::string> groups;      // more than one only when members disagree
  std::vector<std::unique_ptr<Tensor>> tensors;
  MemberBits arrived;
  Time first = kNever;                  // when the first of them submitted
  bool earlier = true;                  // `first` moved since StallWatch looked
  bool same_contents = true;            // false: members put different tensors into it
  bool ready = false;
  Time next_report = kNever;            // these three are used by StallWatch
  Time next_inquiry = kNever;
  Nanos report_gap{0};
  std::list<Unit>::iterator self;

  bool is_group() const { return !groups.empty(); }
  std::string_view name() const {
    return is_group() ? std::string_view(groups.front()) : tensors.front()->canonical.name;
  }
  std::int32_t priority() const;
};

class Readiness {
 public:
  // `joins` outlives this.
  Readiness(int members, const JoinState& joins) : members_(members), joins_(joins) {}

  // Whether one of them has submitted the name.
  bool has_submitted(Senders who, std::string_view name) const;
  // Adds one ungrouped request or all requests of one group; none has_submitted(). Moves from them.
  Unit& add(Senders who, std::span<Request> parcel, Time at);
  // The same for an ungrouped request still in its encoded form, without decoding it, when it
  // repeats what another member sent; null otherwise.
  Unit* add_repeated(Senders who, std::string_view name, std::span<const std::byte> encoded,
                     Time at);
  // Keeps the encoded form of what was just added, if it is the canonical request.
  void remember(Senders who, std::string_view name, std::span<const std::byte> encoded);
  // A member joined: what waited only for it becomes ready.
  void recheck();
  // Marks the unit for the next take_ready(), whoever is missing.
  void force_ready(Unit& unit);
  // Returns the units in the order in which they became ready.
  std::vector<Unit*> take_ready() { return std::exchange(ready_, {}); }
  bool has_ready() const { return !ready_.empty(); }
  Unit take(Unit& unit);

  std::list<Unit>& units() { return units_; }  // in order of first submission
  bool empty() const { return units_.empty(); }

 private:
  Unit& home_of(Senders who, std::span<const Request> parcel);
  Unit& create(const Request& request);
  Unit& merge(Unit& into, Unit& from);
  void arrive(Senders who, Unit& unit, Time at);
  void record(Senders who, Request& request, Unit& unit);
  bool complete(const Unit& unit) const;
  Tensor* find(std::string_view name) const;

  int members_;
  const JoinState& joins_;
  std::list<Unit> units_;
  std::unordered_map<std::string_view, Tensor*> tensors_;  // keys live in the tensors
  std::unordered_map<std::string, Unit*> groups_;
  std::vector<Unit*> ready_;
};

}  // namespace unisono::order
