// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// When a negotiation happens: the rules by name, and what members of a paced set send each other.
//
//   event   at once, whenever there is something to agree; nothing stands between engine and order
//   cycle   in rounds of all members; the next begins a cycle after this one began, or when this
//           one ends if that is later. The thread spins while it waits for the others, so a member
//           that came late once stays late and the others wait in every round that follows
//   gs      like cycle, but all members sleep equally long: the shortest sleep any of them wants
//   nbcs    like cycle, but nobody spins: the wave is posted, and its end wakes the thread
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "order/order.hpp"
#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono::order {

enum class Pacing : std::uint8_t { event, cycle, gs, nbcs };

// Makes a paced order of one that negotiates at once.
using MakePaced = std::unique_ptr<Order> (*)(std::unique_ptr<Order>, Members, const OrderSettings&);

struct PacingRow : RegistryRow<MakePaced> {
  Pacing pacing;
  bool spins;                           // the thread keeps its core from entering to the wave's end
};
std::span<const PacingRow> pacing_table();
// Null when no pacing has this name.
const PacingRow* find_pacing(std::string_view name);

// A part of a wave travels with everything the wrapped order says to that neighbour in the round.
enum class WaveKind : std::uint8_t { up = 1, down = 2, loose = 3 };

struct Wave {
  WaveKind kind = WaveKind::loose;
  std::uint64_t round = 0;              // up, down
  // up: until the earliest begin that the sender's subtree wants for the next round; down: how long
  // all sleep. Negative: the time has passed, or this round agrees on nothing.
  Nanos sleep{0};
  std::vector<std::span<const std::byte>> riders;  // point into the message
};

std::vector<std::byte> encode_wave(WaveKind kind, std::uint64_t round, Nanos sleep,
                                   const std::vector<std::vector<std::byte>>& riders);
// Malformed input is a Status that names the sender.
Result<Wave> decode_wave(Rank from, std::span<const std::byte> message);

}  // namespace unisono::order
