// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The tree strategy, and with a response cache the cache strategy.
//
// Members form a tree (tree_shape.hpp). What a member submits goes to its parent; an inner node
// passes a parcel on when all of its subtree submitted the same (hold.hpp), so that the root counts
// its children, not the members. The root decides rounds (tally.hpp), which go down the tree
// unchanged. Messages per round: at most 1 up and 1 down for each member.
//
// With the cache a parcel that was answered before is one bit, and so is its answer. Bits are
// reduced on the way up (board.hpp). When a cached name is submitted with something else in it, or
// has waited too long, the same message asks to erase it; the root erases it at a place of the
// response sequence, and whoever has sent the bit then sends the request instead. So at the root a
// name is counted either as bits or as requests, never both.
// Joins and caching do not mix: the root clears the cache when the first member joins, and it fills
// again after all have joined. A join leaves only when no bit of its member is under way, so that
// what was submitted before the join is counted before it.
// Thread: the owner's.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "order/cache/board.hpp"
#include "order/cache/store.hpp"
#include "order/messages/local_queue.hpp"
#include "order/order.hpp"
#include "order/agree/tally.hpp"
#include "order/tree/hold.hpp"
#include "order/tree/messages.hpp"

namespace unisono::order {

class TreeOrder final : public Order {
 public:
  TreeOrder(std::string_view name, Members members, const OrderSettings& settings, bool caches);

  std::string_view name() const override { return name_; }
  void submit(Request request, Time now) override;
  Status receive(Rank from, std::span<const std::byte> message, Time now) override;
  void negotiate(Time now, OrderOutput& out) override;
  void member_left(Rank rank, Time now) override;
  std::vector<Request> release() override { return local_.release(); }
  Time deadline() const override;
  std::size_t waiting() const override { return local_.waiting() + unemitted_; }
  OrderCounts counts() const override { return counts_; }

 private:
  using Entry = LocalQueue::Entry;
  using Parcel = std::span<Entry* const>;
  struct Root {
    Root(Members all, const OrderSettings& settings)
        : members(std::move(all)), tally(members, settings) {}
    Members members;
    Tally tally;
    std::vector<std::uint32_t> ready;   // positions that every member submitted
    std::vector<std::uint32_t> erase;   // positions asked to be erased
  };
  struct Child {
    Rank rank;
    std::uint64_t messages = 0;         // received from it
    bool left = false;
  };

  // Up: this member's own requests, and its children's messages (up.cpp).
  void send_own(Time now);
  void send_parcel(Parcel parcel, Time now);
  bool send_bit(Parcel parcel, Time now);
  void send_request(Parcel parcel, Time now);
  Status receive_up(int child, std::span<const std::byte> message, Time now);
  Status receive_positions(int child, const UpMessage& up, Time now);
  Status receive_parcel(int child, const UpParcel& up, Time now);
  bool mark_ready(int part, std::uint32_t position, Time now);
  void ask_erase(std::uint32_t position);
  void flush_late(Time now);

  // Down: rounds (down.cpp).
  void decide(Time now, OrderOutput& out);
  Status receive_down(std::span<const std::byte> message, Time now);
  bool apply(DownMessage& down, Time now);
  bool settle(Answer& answer, std::vector<Request>& own);
  bool settle_hit(Answer& answer, std::vector<Request>& own);
  void note_answered(const Answer& answer);
  void remember(const Answer& answer, std::vector<Request> own);
  void send_dropped_again();
  void answer_inquiry(const std::string& name, Time now);
  void post_down(const std::vector<std::byte>& message, OrderOutput& out) const;
  void emit(OrderOutput& out);
  void fail_own(OrderOutput& out);
  bool must_clear() const;

  const std::string_view name_;
  const SetId set_;
  const TreeShape shape_;
  const int me_;
  const bool caches_;
  std::vector<Rank> ancestors_;         // the parent first
  std::vector<Child> children_;
  std::optional<Rank> left_above_;      // an ancestor that left: nobody decides for us any more
  std::unique_ptr<Root> root_;          // on the root
  std::unique_ptr<HeldParcels> held_;   // on inner nodes
  std::unique_ptr<CacheBoard> board_;   // where there are children
  LocalQueue local_;
  CacheStore cache_;
  bool caching_;
  std::vector<Entry*> mine_;            // by position: what this member sent as a bit
  std::vector<bool> asked_;             // by position: asked to be erased
  std::size_t bits_under_way_ = 0;      // how many mine_ has
  Entry* join_held_back_ = nullptr;
  UpBatch batch_;
  std::vector<Entry*> sending_;
  std::deque<std::vector<Response>> rounds_;      // not yet emitted
  std::vector<std::vector<std::byte>> relays_;    // rounds the children have not got yet
  std::size_t unemitted_ = 0;           // requests of this rank answered in rounds_
  std::uint64_t round_ = 0, next_sequence_, messages_up_ = 0;
  OrderCounts counts_;
  std::string last_name_;               // the last thing this member submitted
  Time last_at_;
};

}  // namespace unisono::order
