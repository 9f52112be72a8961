// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the members of the tree and cache strategies send each other (docs/WIRE_FORMAT.md, "Order").
//
// Up, from child to parent: cached positions that the whole subtree submitted, positions to erase,
// parcels (one request, or one group) with who sent them, and last activities of late members.
// Down, from parent to children: what to erase, which tensors to inquire after, and answers.
// Decoding checks everything that can be checked without state; views point into the message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "order/agree/answer.hpp"
#include "order/messages/messages.hpp"
#include "order/messages/tree_shape.hpp"

namespace unisono::order {

struct ParcelView {
  std::string_view group;               // "" = one ungrouped request
  bool join = false;
  RequestSlices requests;
  std::span<const std::byte> bytes;     // all of it: equal bytes are equal parcels
};

// Requests of a group are written in order of name, so that members that submitted them in
// different order write the same.
std::vector<std::byte> encode_parcel(std::span<LocalQueue::Entry* const> entries);
// Nothing when it does not parse; the requests themselves are not looked into.
std::optional<ParcelView> view_parcel(std::span<const std::byte> bytes);

struct LastActivity {
  int member = 0;
  std::string name;                     // "" = it has submitted nothing yet
  Nanos age{0};
};

struct UpParcel {
  std::optional<MemberBits> members;    // none: the whole subtree of the sender
  Nanos age{0};                         // since the first of them submitted
  ParcelView parcel;
};

struct UpMessage {
  std::uint64_t number = 0;             // counts the messages of the link from 0
  std::uint64_t round = 0;              // rounds that the sender had taken account of
  std::vector<std::uint32_t> ready;     // positions, ascending
  std::vector<std::uint32_t> invalid;   // positions, ascending
  std::vector<UpParcel> parcels;
  std::vector<LastActivity> activities;
};

// Collects what one message carries up.
class UpBatch {
 public:
  void ready(std::uint32_t position) { ready_.push_back(position); }
  void invalid(std::uint32_t position) { invalid_.push_back(position); }
  void whole(std::span<const std::byte> parcel, Nanos age);
  // Equal parcels that follow each other become one.
  void some(const MemberBits& members, std::span<const std::byte> parcel, Nanos age);
  void activity(LastActivity activity) { activities_.push_back(std::move(activity)); }
  // The position means something else from now on.
  void forget(std::uint32_t position);
  bool empty() const {
    return ready_.empty() && invalid_.empty() && parcels_.empty() && activities_.empty();
  }
  void clear() { *this = {}; }
  // Empties the batch.
  std::vector<std::byte> encode(std::uint64_t number, std::uint64_t round);

 private:
  struct Parcel {
    std::optional<MemberBits> members;
    Nanos age;
    std::vector<std::byte> bytes;
  };
  std::vector<std::uint32_t> ready_, invalid_;
  std::vector<Parcel> parcels_;
  std::vector<LastActivity> activities_;
};

// `child`: the sender's index. Members it speaks for are in its subtree.
Result<UpMessage> decode_up(Rank from, std::span<const std::byte> message, const TreeShape& shape,
                            int child);

struct DownMessage {
  std::uint64_t round = 0;              // counts the rounds from 1
  bool clear = false;                   // forget all that is cached, until all have joined
  std::vector<std::uint32_t> erased;    // positions, ascending; before the answers
  std::vector<std::string> inquiries;
  // Cached ones carry their position alone, alike ones the names of their tensors.
  std::vector<Answer> answers;

  bool empty() const {
    return !clear && erased.empty() && inquiries.empty() && answers.empty();
  }
};

std::vector<std::byte> encode_down(const DownMessage& down);
Result<DownMessage> decode_down(Rank from, std::span<const std::byte> message, int members,
                                SetId set, std::uint64_t next_sequence);

}  // namespace unisono::order
