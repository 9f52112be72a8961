// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The response cache: what was answered before, at positions that agree on every member.
//
// All changes follow the sequence of responses, never what is submitted here: members that saw the
// same responses hold the same at the same positions. The least recently answered entry gives way
// when the cache is full. A change is stamped with the round that made it, so that whoever hears of
// a position from a member that is some rounds behind knows whether it still means the same.
// Entries are immutable and may be shared between the members of one process through a CachePool.
// Thread: the owner's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/response.hpp"
#include "order/messages/name_index.hpp"

namespace unisono::order {

struct CachedResponse {
  std::vector<Request> tensors;
  std::vector<std::vector<std::int64_t>> extents;
};

// Lets members of one process share equal entries. Thread: one, that of all its users.
class CachePool {
 public:
  std::shared_ptr<const CachedResponse> share(const Response& response);
  std::size_t size() const { return entries_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::weak_ptr<const CachedResponse>> entries_;
  std::size_t sweep_at_ = 1024;
};

class CacheStore {
 public:
  // `pool` may be null; it outlives this.
  CacheStore(std::size_t capacity, CachePool* pool) : capacity_(capacity), pool_(pool) {}

  static bool cacheable(const Response& response);

  std::uint32_t positions() const { return static_cast<std::uint32_t>(slots_.size()); }
  // Null when the position is empty.
  const CachedResponse* at(std::uint32_t position) const {
    return slots_[position].entry.get();
  }
  // The round in which the position last began to mean something else, or nothing.
  std::uint64_t changed_in(std::uint32_t position) const { return slots_[position].changed_in; }
  struct Place {
    std::uint32_t position;
    std::uint32_t tensor;
  };
  std::optional<Place> find(std::string_view name) const;
  // What this member sent when the entry was made; another member may have sent something else.
  const Request& own(Place place) const;
  bool own_is_canonical(std::uint32_t position) const { return !slots_[position].own; }

  // A cacheable response, at its place in the sequence. `own`: this member's requests for it, in
  // the order of its tensors; empty when they are those of the response.
  void insert(const Response& response, std::vector<Request> own, std::uint64_t round);
  // The entry was answered again.
  void touch(std::uint32_t position);
  void erase(std::uint32_t position, std::uint64_t round);
  void clear(std::uint64_t round);
  // Positions that lost their meaning since the last call.
  std::vector<std::uint32_t> take_dropped() { return std::exchange(dropped_, {}); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Slot {
    std::shared_ptr<const CachedResponse> entry;
    std::unique_ptr<const std::vector<Request>> own;  // null: as in the entry
    std::uint64_t changed_in = 0;
    std::uint32_t newer = kNone, older = kNone;
  };
  // Which tensor of the position has the name; kNone: none.
  std::uint32_t tensor_of(std::uint32_t position, std::string_view name) const;
  std::uint32_t vacancy(std::uint64_t round);
  void unlink(std::uint32_t position);
  void link_newest(std::uint32_t position);

  std::size_t capacity_;
  CachePool* pool_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_, dropped_;
  NameIndex positions_;                 // by the names of their tensors
  std::uint32_t newest_ = kNone, oldest_ = kNone;
};

}  // namespace unisono::order
