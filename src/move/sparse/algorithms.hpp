// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The algorithms behind sparse.hpp, by name. For registry.cpp; nothing outside move/sparse includes
// it.
#pragma once

#include "move/sparse/sparse.hpp"

namespace unisono::move {

using MadeMachine = std::unique_ptr<CollectiveMachine>;

MadeMachine make_sparse_dense(MoveContext context, SparseWork work, stream::Stream& out);
MadeMachine make_ssar_recursive_double(MoveContext context, SparseWork work, stream::Stream& out);
MadeMachine make_ssar_split_allgather(MoveContext context, SparseWork work, stream::Stream& out);
MadeMachine make_dsar_split_allgather(MoveContext context, SparseWork work, stream::Stream& out);
MadeMachine make_sparse_ring(MoveContext context, SparseWork work, stream::Stream& out);
MadeMachine make_gather_and_sum(MoveContext context, SparseWork work, stream::Stream& out);
MadeMachine make_oktopk(MoveContext context, SparseWork work, stream::Stream& out);
MadeMachine make_identical_supports(MoveContext context, SparseWork work, stream::Stream& out);
MadeMachine make_sparse_hierarchical(MoveContext context, SparseWork work, stream::Stream& out);

}  // namespace unisono::move
