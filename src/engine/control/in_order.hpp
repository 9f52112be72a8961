// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What a rank sends to another through ranks in between arrives in the order in which it was sent,
// also when the way changes because one of them leaves: it is numbered, and what comes early waits.
// What asks again when it may have been lost is not numbered, and waits for nothing.
// Thread: the one that drives the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "unisono/types.hpp"

namespace unisono::engine {

class InOrder {
 public:
  // So much of one rank may wait for an earlier message; more makes no sense.
  static constexpr std::size_t kWaitingMax = 1 << 16, kWaitingBytesMax = 256 << 20;
  static constexpr std::uint32_t kUnnumbered = UINT32_MAX;

  // The number of the next message to that rank.
  std::uint32_t next_to(Rank to) {
    std::uint32_t& next = sent_[to];
    const std::uint32_t number = next;
    next = following(number);
    return number;
  }

  // A message of that rank has come. Calls deliver(span) with it and with those that waited for it,
  // or with nothing; returns false when the number cannot be.
  template <typename Deliver>
  bool arrived(Rank origin, std::uint32_t number, std::span<const std::byte> message,
               Deliver&& deliver) {
    if (number == kUnnumbered) {
      deliver(message);
      return true;
    }
    From& from = from_[origin];
    const std::uint32_t ahead = number - from.next;  // numbers may wrap
    if (ahead > kWaitingMax) return false;
    if (ahead > 0) {
      from.waiting_bytes += message.size();
      return from.waiting_bytes <= kWaitingBytesMax &&
             from.waiting.emplace(number, std::vector(message.begin(), message.end())).second;
    }
    from.next = following(from.next);
    deliver(message);
    // Whoever delivers may bring in others; the map keeps its elements where they are.
    for (auto it = from.waiting.find(from.next); it != from.waiting.end();
         it = from.waiting.find(from.next)) {
      const std::vector<std::byte> next = std::move(it->second);
      from.waiting.erase(it);
      from.waiting_bytes -= next.size();
      from.next = following(from.next);
      deliver(std::span<const std::byte>(next));
    }
    return true;
  }

 private:
  struct From {
    std::uint32_t next = 0;
    std::map<std::uint32_t, std::vector<std::byte>> waiting;  // by number
    std::size_t waiting_bytes = 0;
  };
  static std::uint32_t following(std::uint32_t number) {
    return number + 1 == kUnnumbered ? 0 : number + 1;
  }
  std::unordered_map<Rank, std::uint32_t> sent_;
  std::unordered_map<Rank, From> from_;
};

}  // namespace unisono::engine
