// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What an inner node of the tree keeps back: parcels that not all of its subtree has submitted yet.
//
// A parcel goes up once, for all, when this member and every child's subtree sent exactly the same.
// What cannot be waited for goes up member by member, at once: parcels that disagree about a name
// or a group, parcels that came member by member from below, everything while a member of the
// subtree has joined or one of the set has left, and what has waited too long. Once a name has gone
// up for some members only, the rest follow at once until it is answered.
// Thread: the owner's. deadline() may be early, never late.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "order/tree/messages.hpp"
#include "order/messages/tree_shape.hpp"

namespace unisono::order {

class HeldParcels {
 public:
  // `patience`: how long a parcel waits for the rest of the subtree; 0 = for ever.
  HeldParcels(TreeShape shape, int me, Nanos patience);

  // All members of a part sent the parcel: part 0 is this member, part k its k-th child's subtree.
  void add_whole(int part, const ParcelView& parcel, Time since, Time now, UpBatch& out);
  void add_some(const MemberBits& members, const ParcelView& parcel, Time since, Time now,
                UpBatch& out);
  // Whether this very parcel is held already, so that nothing new is to be found in it.
  bool holds(const ParcelView& parcel) const;
  // A stall report is being prepared: what is here must be seen above.
  void inquire(std::string_view name, Time now, UpBatch& out);
  // The name was answered; of a failure, only for the members `counted`.
  void answered(std::string_view name, const MemberBits* counted);
  // Joins were answered; of a failure, only those `counted`.
  void join_answered(const MemberBits* counted);
  // A member left: nothing is worth waiting for any more.
  void pass_everything(Time now, UpBatch& out);
  void flush_due(Time now, UpBatch& out);
  Time deadline() const { return next_flush_; }

 private:
  struct Held {
    std::vector<std::byte> bytes;
    ParcelView view;                    // of the bytes
    MemberBits parts;
    Time since;
    std::list<Held>::iterator self;
  };
  MemberBits members_of(const Held& held) const;
  MemberBits subtree_of(int part) const;
  std::vector<Held*> touched_by(const ParcelView& parcel) const;
  bool must_pass(const ParcelView& parcel) const;
  void pass(const MemberBits& members, const ParcelView& parcel, Time since, Time now,
            UpBatch& out);
  void flush(Held& held, Time now, UpBatch& out);
  void flush_all(Time now, UpBatch& out);
  void hold(int part, const ParcelView& parcel, Time since);
  void drop(Held& held);

  TreeShape shape_;
  int me_, parts_;
  Nanos patience_;
  bool pass_all_ = false;
  MemberBits joined_;                   // of the subtree
  std::list<Held> held_;
  std::unordered_map<std::string_view, Held*> names_, groups_;  // keys live in the held bytes
  // Names that went up for some members only, and for which.
  std::unordered_map<std::string, MemberBits> passing_;
  Time next_flush_ = kNever;
};

}  // namespace unisono::order
