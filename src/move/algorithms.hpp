// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The algorithms behind collective.hpp, by name. For select.cpp; nothing outside move/ includes it.
#pragma once

#include "move/collective.hpp"

namespace unisono::move {

std::unique_ptr<CollectiveMachine> make_allreduce_direct(MoveContext context, DType dtype,
                                                         ReduceOp op, std::span<std::byte> data);
// context.host is not null.
std::unique_ptr<CollectiveMachine> make_allreduce_hierarchical(MoveContext context, DType dtype,
                                                               ReduceOp op,
                                                               std::span<std::byte> data);
std::unique_ptr<CollectiveMachine> make_allreduce_recursive_doubling(MoveContext context,
                                                                     DType dtype, ReduceOp op,
                                                                     std::span<std::byte> data);
std::unique_ptr<CollectiveMachine> make_allreduce_halving_doubling(MoveContext context,
                                                                   DType dtype, ReduceOp op,
                                                                   std::span<std::byte> data);
std::unique_ptr<CollectiveMachine> make_allreduce_tree(MoveContext context, DType dtype,
                                                       ReduceOp op, std::span<std::byte> data);
std::unique_ptr<CollectiveMachine> make_allreduce_double_tree(MoveContext context, DType dtype,
                                                              ReduceOp op,
                                                              std::span<std::byte> data);
std::unique_ptr<CollectiveMachine> make_allreduce_ring(MoveContext context, DType dtype,
                                                       ReduceOp op, std::span<std::byte> data);
// The member's own part is already in place in out.
std::unique_ptr<CollectiveMachine> make_allgather_direct(MoveContext context,
                                                         std::span<const std::byte> mine,
                                                         const Extents& counts,
                                                         std::span<std::byte> out);
std::unique_ptr<CollectiveMachine> make_allgather_ring(MoveContext context,
                                                       std::span<const std::byte> mine,
                                                       const Extents& counts,
                                                       std::span<std::byte> out);

}  // namespace unisono::move
