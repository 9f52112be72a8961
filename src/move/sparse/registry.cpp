// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The table of all algorithms of sparse streams.
#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "model/sparse/stream_bytes.hpp"
#include "move/sparse/algorithms.hpp"

namespace unisono::move {

namespace {

struct MadeRow {
  SparseRow row;
  MadeMachine (*make)(MoveContext, SparseWork, stream::Stream&);
};

constexpr std::array kSparseRows = {
    MadeRow{{Collective::allreduce, "dense",
             "every member fills up what it has not, then a dense allreduce; exact, the yardstick"},
            make_sparse_dense},
    MadeRow{{Collective::allreduce, "ssar_recursive_double",
             "log2 n steps (+2 off powers of two), sends log2 n to n-1 times the stream; short "
             "streams"},
            make_ssar_recursive_double},
    MadeRow{{Collective::allreduce, "ssar_split_allgather",
             "2 steps, sends (n-1)/n of the stream and n-1 times what the member owns of the "
             "result; long streams whose sum is sparse"},
            make_ssar_split_allgather},
    MadeRow{{Collective::allreduce, "dsar_split_allgather",
             "2 steps, sends (n-1)/n of the stream and (n-1)/n of the dense data, or of what a "
             "codec makes of it; long streams whose sum is dense"},
            make_dsar_split_allgather},
    MadeRow{{Collective::allreduce, "sparse_ring",
             "2(n-1) steps, every segment goes around twice; the baseline"},
            make_sparse_ring},
    MadeRow{{Collective::allreduce, "identical",
             "members compare their indices, and where all have the same only values travel, in a "
             "dense allreduce"},
            make_identical_supports},
    MadeRow{{Collective::allreduce, "hierarchical",
             "within each host first, then another algorithm between hosts; several hosts"},
            make_sparse_hierarchical},
    MadeRow{{Collective::allreduce, "oktopk",
             "as ssar_split_allgather with the k largest elements of the sum only; many members",
             true},
            make_oktopk},
    MadeRow{{Collective::allgather, "sparse_allgather",
             "1 step, sends n-1 times the stream; members with few indices in common"},
            make_gather_and_sum},
};

constexpr auto kRows = [] {
  std::array<SparseRow, kSparseRows.size()> rows{};
  std::transform(kSparseRows.begin(), kSparseRows.end(), rows.begin(),
                 [](const MadeRow& made) { return made.row; });
  return rows;
}();

MadeMachine made(Collective kind, std::string_view name, MoveContext context, SparseWork work,
                 stream::Stream& out) {
  UNISONO_CHECK(work.length() <= kStreamLengthMax);
  UNISONO_CHECK(work.mine.dtype() == work.dtype ||
                work.mine.dtype() == work.op.working_dtype(work.dtype));
  UNISONO_CHECK(work.mine.pairs.base == 0);
  UNISONO_CHECK(sparse_reducible(work.dtype, work.op));
  const auto at = std::find_if(kSparseRows.begin(), kSparseRows.end(), [&](const MadeRow& made) {
    return made.row.kind == kind && made.row.name == name;
  });
  UNISONO_CHECK(at != kSparseRows.end());
  return at->make(context, std::move(work), out);
}

}  // namespace

bool sparse_reducible(DType dtype, const kernels::Operator& op) {
  if (op.user != nullptr) return true;
  const bool logical = op.op == ReduceOp::logical_and || op.op == ReduceOp::logical_or;
  return op.op != ReduceOp::adasum && (!logical || dtype == DType::boolean);
}

MadeMachine make_sparse_allreduce(std::string_view algorithm, MoveContext context, SparseWork work,
                                  stream::Stream& out) {
  return made(Collective::allreduce, algorithm, context, std::move(work), out);
}

MadeMachine make_sparse_allgather(MoveContext context, SparseWork work, stream::Stream& out) {
  return made(Collective::allgather, "sparse_allgather", context, std::move(work), out);
}

std::span<const SparseRow> sparse_algorithm_table() { return kRows; }

std::string_view sparse_algorithm_named(std::string_view name) {
  const auto at = std::find_if(kRows.begin(), kRows.end(),
                               [&](const SparseRow& row) { return row.name == name; });
  UNISONO_CHECK(at != kRows.end());
  return at->name;
}

bool sparse_algorithm_known(Collective kind, std::string_view name) {
  return std::any_of(kRows.begin(), kRows.end(),
                     [&](const SparseRow& row) { return row.kind == kind && row.name == name; });
}

}  // namespace unisono::move
