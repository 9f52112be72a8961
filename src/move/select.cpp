// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which algorithm runs, and the table of all of them.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.hpp"
#include "move/algorithms.hpp"

namespace unisono::move {

namespace {

constexpr std::size_t kDoublingBytesMax = 16 << 10;
constexpr std::size_t kDirectGatherBytesMax = 64 << 10;
constexpr int kDirectMembersMax = 8;

constexpr std::array kTable{
    AlgorithmRow{Collective::allreduce, "ring",
                 "2(n-1) steps, sends 2(n-1)/n of the data; many members and large data"},
    AlgorithmRow{Collective::allreduce, "recursive_doubling",
                 "log2 n steps (+2 off powers of two), sends log2 n times the data; up to 16 KiB"},
    AlgorithmRow{Collective::allreduce, "direct",
                 "2 steps, sends 2(n-1)/n of the data, one rounding in member order; up to 8 "
                 "members, 16- and 8-bit floats, deterministic runs"},
    AlgorithmRow{Collective::allgather, "direct",
                 "1 step, sends n-1 times the own part; up to 8 members or 64 KiB in all"},
    AlgorithmRow{Collective::allgather, "ring",
                 "n-1 steps, sends all parts but one; many members and large data"},
    AlgorithmRow{Collective::broadcast, "tree",
                 "log2 n steps, the root sends log2 n times the data, segments are pipelined"},
    AlgorithmRow{Collective::reducescatter, "direct",
                 "1 step, sends all parts but the own, one rounding in member order"},
    AlgorithmRow{Collective::alltoall, "pairwise",
                 "1 step, sends all parts but the own, destinations rotated"},
    AlgorithmRow{Collective::barrier, "dissemination", "log2 n steps of one byte"},
};

bool rounds_coarsely(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f8e4m3 ||
         dtype == DType::f8e5m2;
}

std::string_view choose_allreduce(int n, DType dtype, std::size_t bytes) {
  if (rounds_coarsely(dtype)) return "direct";
  if (bytes <= kDoublingBytesMax) return "recursive_doubling";
  return n <= kDirectMembersMax ? "direct" : "ring";
}

}  // namespace

std::unique_ptr<CollectiveMachine> make_allreduce(std::string_view algorithm, MoveContext context,
                                                  DType dtype, ReduceOp op,
                                                  std::span<std::byte> data) {
  UNISONO_CHECK(data.size() % size_of(dtype) == 0);
  if (algorithm == "auto") algorithm = choose_allreduce(context.n(), dtype, data.size());
  if (algorithm == "ring") return make_allreduce_ring(context, dtype, op, data);
  if (algorithm == "recursive_doubling") {
    return make_allreduce_recursive_doubling(context, dtype, op, data);
  }
  UNISONO_CHECK(algorithm == "direct");
  return make_allreduce_direct(context, dtype, op, data);
}

std::unique_ptr<CollectiveMachine> make_allgather(MoveContext context,
                                                  std::span<const std::byte> mine, Extents counts,
                                                  std::span<std::byte> out) {
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
  if (context.n() <= kDirectMembersMax || total <= kDirectGatherBytesMax) {
    return make_allgather_direct(context, mine, counts, out);
  }
  return make_allgather_ring(context, counts, out);
}

std::span<const AlgorithmRow> algorithm_table() { return kTable; }

bool algorithm_known(Collective kind, std::string_view name) {
  if (name == "auto") return true;
  return std::any_of(kTable.begin(), kTable.end(), [&](const AlgorithmRow& row) {
    return row.kind == kind && row.name == name;
  });
}

}  // namespace unisono::move
