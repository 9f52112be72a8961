// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Everything that depends only on the kind of a collective, one row per kind. A new kind is a row
// here; no other file lists kinds to ask what they have in common, or relies on their numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "unisono/types.hpp"

namespace unisono {

// Agrees that a persistent operation has ended. Only the engine asks for it, so it is not part of
// the public vocabulary.
inline constexpr auto kRelease = static_cast<Collective>(11);

// How many ranks a request of the kind names in `members`.
enum class NamesRanks : std::uint8_t { none, one, some };

struct CollectiveTraits {
  Collective kind;
  std::string_view name;
  bool moves = false;         // runs as a bucket, and callers submit it; the others only decide
  bool carries_data = false;  // has a tensor: a dtype, a shape, a codec
  bool reduces = false;       // has an operator and scale factors
  bool same_shape = false;    // the same shape on every member
  bool free_rows = false;     // the first dimension may differ between members
  bool divides_rows = false;  // needs a first dimension, and makes a result of its own size
  bool has_root = false;
  bool encodes = false;       // a codec applies
  bool fuses = false;         // several tensors may travel in one bucket
  bool opens_team = false;    // members set slots of their boards aside for it
  bool about_sets = false;    // adds or removes a process set
  bool sparse = false;        // indices and values, as many as a member has; with calls of its own
  NamesRanks names_ranks = NamesRanks::none;

  // Whether responses carry a number for every member: its rows, or its board slots.
  constexpr bool has_extents() const { return free_rows || opens_team; }
  // Only a bucket comes back in the next iteration.
  constexpr bool cacheable() const { return moves; }
};

inline constexpr std::array kCollectives = {
    CollectiveTraits{.kind = Collective::allreduce, .name = "allreduce", .moves = true,
                     .carries_data = true, .reduces = true, .same_shape = true, .encodes = true,
                     .fuses = true},
    CollectiveTraits{.kind = Collective::allgather, .name = "allgather", .moves = true,
                     .carries_data = true, .free_rows = true, .divides_rows = true},
    CollectiveTraits{.kind = Collective::broadcast, .name = "broadcast", .moves = true,
                     .carries_data = true, .same_shape = true, .has_root = true},
    CollectiveTraits{.kind = Collective::reducescatter, .name = "reducescatter", .moves = true,
                     .carries_data = true, .reduces = true, .same_shape = true,
                     .divides_rows = true},
    CollectiveTraits{.kind = Collective::alltoall, .name = "alltoall", .moves = true,
                     .carries_data = true, .free_rows = true, .divides_rows = true},
    CollectiveTraits{.kind = Collective::barrier, .name = "barrier", .moves = true},
    CollectiveTraits{.kind = Collective::join, .name = "join"},
    CollectiveTraits{.kind = Collective::add_process_set, .name = "add_process_set",
                     .opens_team = true, .about_sets = true, .names_ranks = NamesRanks::some},
    CollectiveTraits{.kind = Collective::remove_process_set, .name = "remove_process_set",
                     .about_sets = true, .names_ranks = NamesRanks::one},
    CollectiveTraits{.kind = Collective::prepare, .name = "prepare", .carries_data = true,
                     .reduces = true, .same_shape = true, .encodes = true, .opens_team = true},
    CollectiveTraits{.kind = Collective::switch_order, .name = "switch_order"},
    CollectiveTraits{.kind = kRelease, .name = "release", .names_ranks = NamesRanks::one},
    CollectiveTraits{.kind = Collective::sparse_allreduce, .name = "sparse_allreduce",
                     .moves = true, .carries_data = true, .reduces = true, .same_shape = true,
                     .sparse = true},
    CollectiveTraits{.kind = Collective::sparse_allgather, .name = "sparse_allgather",
                     .moves = true, .carries_data = true, .reduces = true, .same_shape = true,
                     .sparse = true},
};

// A kind's number must be the index of its row.
constexpr bool rows_stand_by_number() {
  for (std::size_t i = 0; i < kCollectives.size(); ++i) {
    if (kCollectives[i].kind != static_cast<Collective>(i)) return false;
  }
  return true;
}
static_assert(rows_stand_by_number());

// False for a number that is not a kind; foreign bytes may hold one.
constexpr bool known(Collective kind) {
  return static_cast<std::size_t>(kind) < kCollectives.size();
}

inline constexpr CollectiveTraits kUnknownCollective{.kind = static_cast<Collective>(UINT8_MAX),
                                                     .name = "unknown"};

// Returns the row of a known kind, else a row in which everything is false.
constexpr const CollectiveTraits& traits_of(Collective kind) {
  return known(kind) ? kCollectives[static_cast<std::size_t>(kind)] : kUnknownCollective;
}

}  // namespace unisono
