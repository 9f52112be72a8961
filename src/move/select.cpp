// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which algorithm runs, and the table of all of them.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/check.hpp"
#include "kernels/kernels.hpp"
#include "model/collective_traits.hpp"
#include "model/options/choices.hpp"
#include "model/options/registry.hpp"
#include "move/algorithms.hpp"

namespace unisono::move {

namespace {

constexpr std::size_t kDoublingBytesMax = 16 << 10;
constexpr std::size_t kFlatBytesMax = 64 << 10;
constexpr std::size_t kHalvingBytesMax = 512 << 10;
constexpr std::size_t kDirectGatherBytesMax = 64 << 10;

using MakeAllreduce = std::unique_ptr<CollectiveMachine> (*)(MoveContext, DType, ReduceOp,
                                                             std::span<std::byte>);
constexpr std::array kAllreduces = {
    registry_row<MakeAllreduce>(kAllreduceChoices, "ring", make_allreduce_ring),
    registry_row<MakeAllreduce>(kAllreduceChoices, "recursive_doubling",
                                make_allreduce_recursive_doubling),
    registry_row<MakeAllreduce>(kAllreduceChoices, "direct", make_allreduce_direct),
    registry_row<MakeAllreduce>(kAllreduceChoices, "halving_doubling",
                                make_allreduce_halving_doubling),
    registry_row<MakeAllreduce>(kAllreduceChoices, "tree", make_allreduce_tree),
    registry_row<MakeAllreduce>(kAllreduceChoices, "double_tree", make_allreduce_double_tree),
    registry_row<MakeAllreduce>(kAllreduceChoices, "hierarchical", make_allreduce_hierarchical),
    registry_row<MakeAllreduce>(kAllreduceChoices, "rings", make_allreduce_rings),
};
static_assert(all_have_rows(kAllreduceChoices, kAllreduces));

using MakeAllgather = std::unique_ptr<CollectiveMachine> (*)(MoveContext,
                                                             std::span<const std::byte>,
                                                             const Extents&, std::span<std::byte>);
constexpr std::array kAllgathers = {
    RegistryRow<MakeAllgather>{
        "direct", "1 step, sends n-1 times the own part; up to 8 members or 64 KiB in all",
        make_allgather_direct},
    RegistryRow<MakeAllgather>{
        "ring", "n-1 steps, sends all parts but one; many members and large data",
        make_allgather_ring},
    RegistryRow<MakeAllgather>{
        "hierarchical", "between hosts around a ring, so that each receives every part once, then "
                        "within each through shared memory; several hosts, more than 64 KiB in "
                        "all",
        make_allgather_hierarchical},
};

using MakeBroadcast = std::unique_ptr<CollectiveMachine> (*)(MoveContext, int root,
                                                             std::span<std::byte>);
constexpr std::array kBroadcasts = {
    RegistryRow<MakeBroadcast>{
        "tree", "log2 n steps, the root sends log2 n times the data, segments are pipelined",
        make_broadcast_tree},
    RegistryRow<MakeBroadcast>{
        "hierarchical", "the tree with one receiver on each host, whose window the others of it "
                        "copy; several hosts, more than 64 KiB",
        make_broadcast_hierarchical},
};

using MakeReducescatter = std::unique_ptr<CollectiveMachine> (*)(MoveContext, DType, ReduceOp,
                                                                 std::span<const std::byte>,
                                                                 const Extents&,
                                                                 std::span<std::byte>);
constexpr std::array kReducescatters = {
    RegistryRow<MakeReducescatter>{
        "direct", "1 step, sends all parts but the own, one rounding in member order; up to 8 "
                  "members",
        make_reducescatter_direct},
    RegistryRow<MakeReducescatter>{
        "halving", "log2 n steps (+2 off powers of two), sends all parts but the own, one "
                   "rounding; many members, up to 512 KiB in all",
        make_reducescatter_halving},
    RegistryRow<MakeReducescatter>{
        "ring", "n-1 steps, sends all parts but one, one rounding; many members and large data",
        make_reducescatter_ring},
    RegistryRow<MakeReducescatter>{
        "hierarchical", "within each host through shared memory, then to the owners of other hosts' "
                        "parts, of which each host sends every one once, one rounding; several "
                        "hosts, more than 64 KiB in all",
        make_reducescatter_hierarchical},
};

using MakeAlltoall = std::unique_ptr<CollectiveMachine> (*)(MoveContext, const AlltoallWork&);
constexpr std::array kAlltoalls = {
    RegistryRow<MakeAlltoall>{"pairwise",
                              "1 step, sends all parts but the own, destinations rotated",
                              make_alltoall_pairwise},
    RegistryRow<MakeAlltoall>{
        "hierarchical", "what a host sends to a rank of another is collected through shared memory "
                        "and sent as one; several hosts and little data",
        make_alltoall_hierarchical},
};

// Algorithms that are never chosen by name.
constexpr std::array kOthers = {
    AlgorithmRow{Collective::barrier, MovesBy::messages, "dissemination",
                 "log2 n steps of one byte; up to 32 members"},
    AlgorithmRow{Collective::barrier, MovesBy::messages, "tree",
                 "2 log16 n steps of one byte, between members adjacent in a tree; more members"},
    AlgorithmRow{Collective::allreduce, MovesBy::memory, "tiny",
                 "every member reads all inputs and adds them up itself; up to 32 KiB"},
    AlgorithmRow{Collective::allreduce, MovesBy::memory, "sliced",
                 "every member reduces a slice of all inputs where they stand, then copies the "
                 "others' slices; larger data"},
    AlgorithmRow{Collective::allgather, MovesBy::memory, "window",
                 "every member copies the others' parts from their windows"},
    AlgorithmRow{Collective::broadcast, MovesBy::memory, "window",
                 "every member copies the data from the root's window"},
    AlgorithmRow{Collective::reducescatter, MovesBy::memory, "window",
                 "every member reduces its part of all windows, in member order"},
    AlgorithmRow{Collective::alltoall, MovesBy::memory, "window",
                 "every member copies its part of each window"},
    AlgorithmRow{Collective::barrier, MovesBy::memory, "board",
                 "every member waits for the others' marks on the board"},
};

constexpr auto kTable = [] {
  std::array<AlgorithmRow, kAllreduces.size() + kAllgathers.size() + kReducescatters.size() +
                               kBroadcasts.size() + kAlltoalls.size() + kOthers.size()>
      table{};
  auto out = table.begin();
  for (const auto& row : kAllreduces) {
    *out++ = {Collective::allreduce, MovesBy::messages, row.name, row.about};
  }
  for (const auto& row : kAllgathers) {
    *out++ = {Collective::allgather, MovesBy::messages, row.name, row.about};
  }
  for (const auto& row : kReducescatters) {
    *out++ = {Collective::reducescatter, MovesBy::messages, row.name, row.about};
  }
  for (const auto& row : kBroadcasts) {
    *out++ = {Collective::broadcast, MovesBy::messages, row.name, row.about};
  }
  for (const auto& row : kAlltoalls) {
    *out++ = {Collective::alltoall, MovesBy::messages, row.name, row.about};
  }
  for (const AlgorithmRow& row : kOthers) *out++ = row;
  return table;
}();

// The one rule which algorithm may run. All of them keep partials of 16- and 8-bit floats in
// float32, so that no dtype excludes any; only hosts may be missing.
bool may_run(std::string_view algorithm, const MoveContext& context) {
  return algorithm != "hierarchical" || context.host != nullptr;
}

// The name as its table has it, when the kind has such an algorithm and these members can run it.
template <typename Rows>
std::string_view pinned(const Rows& rows, std::string_view asked, const MoveContext& context) {
  const auto* row = find_row(rows, asked);
  return row != nullptr && may_run(asked, context) ? row->name : std::string_view();
}

// Whether an algorithm may be chosen although nobody asked for it: it has the memory it needs and
// not too many messages. Few members rather send what would widen to its owner at once.
bool may_be_chosen(Collective kind, std::string_view algorithm, const MoveContext& context,
                   DType dtype, std::size_t bytes) {
  if (!may_run(algorithm, context)) return false;
  const bool gather = kind == Collective::allgather;
  const bool few = context.n() <= kDirectMembersMax;
  if (algorithm == "direct") return few || (gather && bytes <= kDirectGatherBytesMax);
  const bool reduces = traits_of(kind).reduces;
  return algorithm == "hierarchical" || !reduces || !few || !rounds_coarsely(dtype);
}

std::string_view choose_allgather(std::string_view asked, const MoveContext& context,
                                  std::size_t bytes) {
  if (const auto name = pinned(kAllgathers, asked, context); !name.empty()) return name;
  if (bytes > kFlatBytesMax && may_run("hierarchical", context)) return "hierarchical";
  const bool direct = context.n() <= kDirectMembersMax || bytes <= kDirectGatherBytesMax;
  return direct ? "direct" : "ring";
}

std::string_view choose_broadcast(std::string_view asked, const MoveContext& context,
                                  std::size_t bytes) {
  if (const auto name = pinned(kBroadcasts, asked, context); !name.empty()) return name;
  return bytes > kFlatBytesMax && may_run("hierarchical", context) ? "hierarchical" : "tree";
}

// Sums between hosts have another order than flat ones, so only who leaves the choice to us gets it.
std::string_view choose_reducescatter(std::string_view asked, const MoveContext& context,
                                      std::size_t bytes) {
  if (const auto name = pinned(kReducescatters, asked, context); !name.empty()) return name;
  const bool wanted = asked == "auto" && bytes > kFlatBytesMax;
  if (wanted && may_run("hierarchical", context)) return "hierarchical";
  if (context.n() <= kDirectMembersMax) return "direct";
  return bytes <= kHalvingBytesMax ? "halving" : "ring";
}

// An alltoall sends the same bytes either way. Fewer messages may be worth two copies more of little
// data; where, only trials tell.
std::string_view choose_alltoall(std::string_view asked, const MoveContext& context) {
  const auto name = pinned(kAlltoalls, asked, context);
  return name.empty() ? "pairwise" : name;
}

template <typename Visit>
void for_names(Collective kind, const Visit& visit) {
  for (const AlgorithmRow& row : kTable) {
    if (row.kind == kind && row.by == MovesBy::messages) visit(row.name);
  }
}

}  // namespace

bool rounds_coarsely(DType dtype) { return kernels::wants_partials(dtype, ReduceOp::sum); }

// All members must choose alike, so only what all know decides.
std::string_view choose_allreduce(std::string_view asked, const MoveContext& context, DType dtype,
                                  std::size_t bytes) {
  if (const auto name = pinned(kAllreduces, asked, context); !name.empty()) return name;
  const bool few = context.n() <= kDirectMembersMax;
  if (bytes <= kDoublingBytesMax) {
    return few && rounds_coarsely(dtype) ? "direct" : "recursive_doubling";
  }
  if (bytes > kFlatBytesMax && may_run("hierarchical", context)) return "hierarchical";
  if (few) return "direct";
  return bytes <= kHalvingBytesMax ? "halving_doubling" : "ring";
}

std::string_view choose_algorithm(Collective kind, std::string_view asked,
                                  const MoveContext& context, DType dtype, std::size_t bytes) {
  switch (kind) {
    case Collective::allgather: return choose_allgather(asked, context, bytes);
    case Collective::broadcast: return choose_broadcast(asked, context, bytes);
    case Collective::reducescatter: return choose_reducescatter(asked, context, bytes);
    case Collective::alltoall: return choose_alltoall(asked, context);
    default: break;
  }
  UNISONO_CHECK(kind == Collective::allreduce);
  return choose_allreduce(asked, context, dtype, bytes);
}

std::vector<std::string_view> algorithm_candidates(Collective kind, const MoveContext& context,
                                                   DType dtype, std::size_t bytes) {
  std::vector<std::string_view> names;
  for_names(kind, [&](std::string_view name) {
    if (may_be_chosen(kind, name, context, dtype, bytes)) names.push_back(name);
  });
  return names;
}

std::unique_ptr<CollectiveMachine> make_allreduce(std::string_view algorithm, MoveContext context,
                                                  DType dtype, ReduceOp op,
                                                  std::span<std::byte> data) {
  UNISONO_CHECK(data.size() % size_of(dtype) == 0);
  const auto* row =
      find_row(kAllreduces, choose_allreduce(algorithm, context, dtype, data.size()));
  UNISONO_CHECK(row != nullptr);
  return row->make(context, dtype, op, data);
}

std::unique_ptr<CollectiveMachine> make_allgather(MoveContext context,
                                                  std::span<const std::byte> mine, Extents counts,
                                                  std::span<std::byte> out,
                                                  std::string_view algorithm) {
  const auto me = static_cast<std::size_t>(context.me());
  UNISONO_CHECK(counts.size() == static_cast<std::size_t>(context.n()));
  UNISONO_CHECK(counts[me] == mine.size());
  std::size_t total = 0, start = 0;
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (j == me) start = total;
    total += counts[j];
  }
  UNISONO_CHECK(total == out.size());
  if (!mine.empty()) std::memcpy(out.data() + start, mine.data(), mine.size());
  const std::string_view chosen = choose_allgather(algorithm, context, total);
  return find_row(kAllgathers, chosen)->make(context, mine, counts, out);
}

std::unique_ptr<CollectiveMachine> make_broadcast(MoveContext context, int root,
                                                  std::span<std::byte> data,
                                                  std::string_view algorithm) {
  UNISONO_CHECK(root >= 0 && root < context.n());
  const std::string_view chosen = choose_broadcast(algorithm, context, data.size());
  return find_row(kBroadcasts, chosen)->make(context, root, data);
}

std::unique_ptr<CollectiveMachine> make_reducescatter(MoveContext context, DType dtype,
                                                      ReduceOp op,
                                                      std::span<const std::byte> data,
                                                      Extents counts, std::span<std::byte> out,
                                                      std::string_view algorithm) {
  UNISONO_CHECK(counts.size() == static_cast<std::size_t>(context.n()));
  std::size_t total = 0;
  for (const std::size_t count : counts) {
    UNISONO_CHECK(count % size_of(dtype) == 0);
    total += count;
  }
  UNISONO_CHECK(total == data.size());
  UNISONO_CHECK(counts[static_cast<std::size_t>(context.me())] == out.size());
  const std::string_view chosen = choose_reducescatter(algorithm, context, total);
  return find_row(kReducescatters, chosen)->make(context, dtype, op, data, counts, out);
}

std::unique_ptr<CollectiveMachine> make_alltoall(MoveContext context, const AlltoallWork& work,
                                                 std::string_view algorithm) {
  const auto n = static_cast<std::size_t>(context.n()), me = static_cast<std::size_t>(context.me());
  const auto total = [](const Extents& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  };
  UNISONO_CHECK(work.send_counts.size() == n && work.receive_counts.size() == n);
  UNISONO_CHECK(work.send_counts[me] == work.receive_counts[me]);
  UNISONO_CHECK(total(work.send_counts) == work.in.size());
  UNISONO_CHECK(total(work.receive_counts) == work.out.size());
  const Extents& all = work.sent_by_each;
  UNISONO_CHECK(all.empty() || (all.size() == n && all[me] == work.in.size()));
  const std::string_view chosen = all.empty() ? "pairwise" : choose_alltoall(algorithm, context);
  return find_row(kAlltoalls, chosen)->make(context, work);
}

bool runs_direct(std::string_view algorithm, const MoveContext& context, DType dtype,
                 std::size_t bytes) {
  return choose_allreduce(algorithm, context, dtype, bytes) == "direct";
}

std::span<const AlgorithmRow> algorithm_table() { return kTable; }

bool algorithm_known(Collective kind, std::string_view name) {
  if (name == "auto") return true;
  return std::any_of(kTable.begin(), kTable.end(), [&](const AlgorithmRow& row) {
    return row.by == MovesBy::messages && row.kind == kind && row.name == name;
  });
}

}  // namespace unisono::move
