// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A collective is a small machine: step() posts and checks transfers and never waits.
// Thread: the one that drives the engine. The transport and the spans outlive the machine, which
// is destroyed only when finished, or after the transport that holds its transfers.
// Results are bit-identical on all members: every element is reduced in one place, or in an order
// fixed by member index.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/members.hpp"
#include "model/request.hpp"
#include "model/response.hpp"
#include "transport/transport.hpp"
#include "unisono/types.hpp"

namespace unisono::move {

enum class Step : std::uint8_t { waiting, advanced, finished };

class CollectiveMachine {
 public:
  virtual ~CollectiveMachine() = default;
  virtual Step step() = 0;
  virtual std::string describe() const = 0;  // algorithm, phase, whom it waits for
  // Whether step() would advance although the transport has nothing new: the last look before
  // sleeping. Machines that only wait for transfers need not answer.
  virtual bool ready() const { return false; }
  // Once finished: the strongest vote of any member of a planned bucket; when it is abort, nothing
  // was written. Machines that carry no votes answer run.
  virtual PlanVote vote() const { return PlanVote::run; }
  // The last call, when the operation failed: the callers' memory is theirs again. Machines that
  // only use the engine's own need not answer.
  virtual void abandon() {}
  // Not ok when the machine can never finish, e.g. for want of memory: the job ends with it.
  virtual const Status& trouble() const {
    static const Status kNone;
    return kNone;
  }
};

struct HostTeam;  // move/host_team.hpp

// A member's slice of an allreduce from which on several connections, each with a thread, take less
// time than one.
inline constexpr std::size_t kSharedSliceBytes = 256 << 10;

// Everything an algorithm needs to know about where it runs.
struct MoveContext {
  transport::Transport* transport = nullptr;
  const Members* members = nullptr;          // outlives the machine
  SetId set = 0;
  std::uint64_t bucket = 0;                  // with the set, makes tags unique
  std::uint64_t identity = 0;  // of the bucket: goes with every byte, compared on arrival
  HostTeam* host = nullptr;    // of members on several hosts, some of which share one; else null
  bool is_long = false;        // worth waking the threads of the transport, where it has some

  int n() const { return members->count(); }
  int me() const { return members->me; }
};

// counts and displacements are in bytes, one per member, for the ragged collectives.
using Extents = std::vector<std::size_t>;

// In place over `data`. algorithm: one of kAlgorithmChoices; one that the collective does not have,
// and "hierarchical" without a host team, leave it to fixed rules, as "auto" does.
std::unique_ptr<CollectiveMachine> make_allreduce(std::string_view algorithm, MoveContext context,
                                                  DType dtype, ReduceOp op,
                                                  std::span<std::byte> data);
// A piece of a bucket that is one piece of memory: a tensor, or several small ones back to back.
// Regions have the same lengths, in the same order, on all members.
struct Region {
  std::span<const std::byte> in;
  std::span<std::byte> out = {};            // as long as in, and may be the same bytes; shorter
                                            // where in holds partials
  std::int64_t divisor = 1;                 // average
  double postscale = 1.0;
};
struct DirectWork {
  DType dtype = DType::f32;                 // of the results
  ReduceOp op = ReduceOp::sum;
  std::vector<Region> regions = {};
  std::optional<PlanVote> vote = {};        // of this member; none when the bucket is not planned
  std::span<std::byte> scratch = {};        // of direct_scratch_bytes(), or none
  unsigned turn = 0;                        // < kDirectTurns; tells apart those under one bucket
  bool partials = false;                    // the inputs of regions are float32 partials
};
inline constexpr unsigned kDirectTurns = 4;
// Beyond so many members "direct" has too many messages to be chosen.
inline constexpr int kDirectMembersMax = 8;
// "direct", from where the contributions are to where the results are wanted.
std::unique_ptr<CollectiveMachine> make_allreduce_from_regions(MoveContext context,
                                                               DirectWork work);
std::size_t direct_scratch_bytes(int members);
// Whether sums of this dtype, 16- and 8-bit floats, must not be rounded on the way.
bool rounds_coarsely(DType dtype);
// What make_allreduce() runs: the algorithm asked for, and for "auto" what fixed rules say about the
// size and the members, never measured time. Equal on all members; the name lives for ever.
std::string_view choose_allreduce(std::string_view asked, const MoveContext& context, DType dtype,
                                  std::size_t bytes);
// The same of any kind but a barrier. bytes: what each member brings, the most that one does; of an
// allgather, of all parts together.
std::string_view choose_algorithm(Collective kind, std::string_view asked,
                                  const MoveContext& context, DType dtype, std::size_t bytes);
// The names that may be chosen for these members, equal on all of them.
std::vector<std::string_view> algorithm_candidates(Collective kind, const MoveContext& context,
                                                   DType dtype, std::size_t bytes);
// Whether "direct" is what make_allreduce() would run. Equal on all members.
bool runs_direct(std::string_view algorithm, const MoveContext& context, DType dtype,
                 std::size_t bytes);
// mine (counts[me] bytes) lands in out at the sum of the counts before it, on every member.
std::unique_ptr<CollectiveMachine> make_allgather(MoveContext context,
                                                  std::span<const std::byte> mine, Extents counts,
                                                  std::span<std::byte> out,
                                                  std::string_view algorithm = "auto");
// root is a member index.
std::unique_ptr<CollectiveMachine> make_broadcast(MoveContext context, int root,
                                                  std::span<std::byte> data,
                                                  std::string_view algorithm = "auto");
// data holds all parts (counts in bytes, multiples of the element size); out receives part me,
// reduced in an order that only the members and the algorithm decide, with one rounding. A name that
// reducescatters do not have makes it flat.
std::unique_ptr<CollectiveMachine> make_reducescatter(MoveContext context, DType dtype,
                                                      ReduceOp op,
                                                      std::span<const std::byte> data,
                                                      Extents counts, std::span<std::byte> out,
                                                      std::string_view algorithm = "auto");
struct AlltoallWork {
  std::span<const std::byte> in;            // send_counts bytes back to back
  Extents send_counts;
  std::span<std::byte> out;                 // receive_counts bytes back to back
  Extents receive_counts;
  Extents sent_by_each = {};                // bytes by member, where all know them; else empty
};
// Without sent_by_each it is flat.
std::unique_ptr<CollectiveMachine> make_alltoall(MoveContext context, const AlltoallWork& work,
                                                 std::string_view algorithm = "auto");
std::unique_ptr<CollectiveMachine> make_barrier(MoveContext context);

// Adasum (move/adasum/adasum.hpp) of tensors of counts[i] elements, in place. data holds the
// members' shares back to back, each a slice of every tensor: adasum::for_pieces() says where. Each
// stage has its own tags.
using AdasumContexts = std::array<MoveContext, 3>;
std::unique_ptr<CollectiveMachine> make_adasum(const AdasumContexts& contexts, DType dtype,
                                               const std::vector<std::size_t>& counts,
                                               PlanVote vote, std::span<std::byte> data);

// Between hosts and processes a machine sends messages; within a host it reads shared memory.
enum class MovesBy : std::uint8_t { messages, memory };

struct AlgorithmRow {
  Collective kind;
  MovesBy by;
  std::string_view name;
  std::string_view about;                    // steps, bytes, when it wins
};
std::span<const AlgorithmRow> algorithm_table();
// Whether an algorithm of that name sends messages; "auto" always counts as known.
bool algorithm_known(Collective kind, std::string_view name);

}  // namespace unisono::move
