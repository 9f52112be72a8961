// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Collectives inside one host, each one pass over memory that all members map.
// A caller's tensor is read directly, and in an allreduce results are written to it as they come:
// when a member dies on the way, what is in it then is undefined (keeps_outputs() says whether it
// is). Others are written when the whole result is in shared memory. A tensor that lives in the
// arena itself may still be written to until every member knows of the failure.
// A member that has finished has its memory to itself: nobody reads it or writes to it any more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/plan.hpp"
#include "move/collective.hpp"
#include "move/local/team.hpp"

namespace unisono::move {

// Where an operation takes place, and which bucket it moves. Members that mean different buckets
// find out before they touch each other's data, and all of them end in trouble() then. A bucket
// whose tensors move one after the other has a turn for each. Machines of tests have no bucket.
struct LocalTurn {
  LocalTurn(LocalTeam& where) : team(where) {}  // NOLINT: implicit on purpose
  LocalTurn(LocalTeam& where, const Bucket& what, const Members& who, std::size_t index = 0)
      : team(where), bucket(&what), members(&who), identity(what.identity + index) {}

  LocalTeam& team;
  const Bucket* bucket = nullptr;           // both outlive the machine
  const Members* members = nullptr;
  std::uint64_t identity = 0;
};

// One tensor of a bucket. A null source is the neutral element; without a target its part is lost.
// A target is the source, or overlaps no source and no other target.
struct LocalItem {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::size_t offset = 0;                   // place in the bucket, in bytes
  std::size_t bytes = 0;                    // in the bucket
};

// How elements pass between a caller's tensor and the bucket when they differ in more than place.
// Both work on `bytes` of the bucket, beginning `from` into the item, and several threads may call
// them at once. store also divides and scales what it writes.
struct Translation {
  std::function<void(const LocalItem&, std::size_t from, std::size_t bytes, std::byte* out)> load;
  std::function<void(const LocalItem&, std::size_t from, std::size_t bytes, const std::byte* in)>
      store;

  explicit operator bool() const { return load != nullptr; }
};

struct LocalReduction {
  DType dtype = DType::f32;                 // of the bucket
  ReduceOp op = ReduceOp::sum;
  double prescale = 1.0;
  std::int64_t divisor = 1;                 // average
  double postscale = 1.0;
  PlanVote vote = PlanVote::run;          // of this member; allreduce only
  Translation translation = {};           // allreduce only; it scales and divides itself
  std::vector<LocalItem> items;             // back to back
  std::size_t bytes = 0;
  bool partials = false;                    // reducescatter only: out receives float32, not rounded
};

// What shared memory adds to a machine: the members see each other, and read and write where the
// callers' tensors are.
class LocalCollective : public CollectiveMachine {
 public:
  // Whether every member has been seen to take part.
  virtual bool joined() const { return true; }
  // Whether all that is left needs nobody else: such a machine is stepped to its end even when a
  // member has died, so that an output it has begun to write becomes whole.
  virtual bool committed() const { return false; }
  // Whether a failure now would leave the callers' outputs as they were.
  virtual bool keeps_outputs() const { return true; }
  // The last call, when the operation failed: what this member shows is not to be used any more.
  virtual void undo() {}
};

std::unique_ptr<LocalCollective> make_local_allreduce(LocalTurn turn, LocalReduction work);
// Of so few bytes it needs no window, and writes results only when it needs nobody else any more.
inline bool is_tiny(std::size_t bytes) { return bytes <= arena::kTinyBytes; }
// How much shared memory every member must have for one at least.
std::size_t local_allreduce_window(int members, std::size_t bytes);
// Whether the callers' memory is itself the window: one piece of the arena, in place, with nothing
// to scale on the way in.
bool is_resident(const LocalTeam& team, const LocalReduction& work);
// work.op is adasum; every item is a tensor of its own.
std::unique_ptr<LocalCollective> make_local_adasum(LocalTurn turn, LocalReduction work);
// The max bytes it needs in a window beyond those of the bucket.
std::size_t local_adasum_extra(int members, std::size_t tensors);
std::unique_ptr<LocalCollective> make_local_reducescatter(LocalTurn turn, LocalReduction work,
                                                          Extents counts,
                                                          std::span<std::byte> out);
std::unique_ptr<LocalCollective> make_local_allgather(LocalTurn turn,
                                                      std::span<const std::byte> mine,
                                                      Extents counts, std::span<std::byte> out);
std::unique_ptr<LocalCollective> make_local_broadcast(LocalTurn turn, int root,
                                                      std::span<const std::byte> source,
                                                      std::span<std::byte> target);
// matrix[sender][receiver] in bytes, row-major.
std::unique_ptr<LocalCollective> make_local_alltoall(LocalTurn turn,
                                                     std::span<const std::byte> in,
                                                     std::vector<std::size_t> matrix,
                                                     std::span<std::byte> out);
std::unique_ptr<LocalCollective> make_local_barrier(LocalTurn turn);

// A part of what another member shows, and where it is wanted.
struct LocalCopy {
  int member;
  std::size_t from;                         // in what that member shows
  std::span<std::byte> to;
};
// Every member shows pieces, as if they lay back to back, and copies what it wants of the others'.
std::unique_ptr<LocalCollective> make_local_copies(LocalTurn turn,
                                                   std::vector<std::span<const std::byte>> shown,
                                                   std::vector<LocalCopy> wanted);

}  // namespace unisono::move
