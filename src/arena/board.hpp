// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the start of a segment is laid out: one slot per process set, holding the counters its owner
// publishes to the other members, and the two windows small messages pass through.
//
// Every counter has one writer, the segment's owner, and only ever grows: (operation << 20) plus
// how far the operation is, so that "reached" is one comparison.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace unisono::arena {

inline constexpr std::size_t kBoardSlots = 64;
inline constexpr int kMembersMax = 256;
inline constexpr std::size_t kTinyBytes = 32 << 10;
inline constexpr std::size_t kInlineBytes = 96;
inline constexpr unsigned kProgressBits = 20;

using Mark = std::uint64_t;
inline constexpr Mark mark(std::uint64_t operation, std::uint64_t progress) {
  return (operation << kProgressBits) + progress;
}

// What an operation publishes: where its window is, or a message of a few words, in the cache line
// of the counter that announces it. There is one line per parity, so that an operation never
// overwrites what a slower member still reads of the previous one.
struct alignas(128) BoardLine {
  std::atomic<Mark> in{0};                  // how much of the owner's contribution is readable
  std::atomic<std::uint64_t> window{0};     // offset of the owner's window in its segment
  std::atomic<std::uint64_t> terms{0};  // which bucket, how the owner takes part; see LocalMachine
  std::atomic<std::uint64_t> result{0};     // offset of the owner's slots, and how many they are
  std::byte message[kInlineBytes];
};
static_assert(sizeof(BoardLine) == 128);
struct alignas(128) BoardCounters {
  std::atomic<Mark> out{0};                 // how much of the owner's result part is readable
  std::atomic<Mark> taken{0};               // how much of the others' parts the owner has read
  std::atomic<Mark> done{0};                // the owner reads nothing more of this operation
  std::atomic<std::uint64_t> lease{0};      // counts how often the slot was given to a team
};

struct BoardSlot {
  BoardLine line[2];                        // by parity of the operation
  BoardCounters counters;
  alignas(4096) std::byte tiny[2][kTinyBytes];
};

inline constexpr std::size_t kBoardBytes = kBoardSlots * sizeof(BoardSlot);

}  // namespace unisono::arena
