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
std::unique_ptr<CollectiveMachine> make_allreduce_rings(MoveContext context, DType dtype,
                                                        ReduceOp op, std::span<std::byte> data);
// The same of contributions that are float32 partials of 16- or 8-bit floats.
std::unique_ptr<CollectiveMachine> make_ring_of_partials(MoveContext context, DType dtype,
                                                         ReduceOp op,
                                                         std::span<const std::byte> partials,
                                                         std::span<std::byte> out);
std::unique_ptr<CollectiveMachine> make_halving_of_partials(MoveContext context, DType dtype,
                                                            ReduceOp op,
                                                            std::span<const std::byte> partials,
                                                            std::span<std::byte> out);
std::unique_ptr<CollectiveMachine> make_reducescatter_direct(MoveContext context, DType dtype,
                                                             ReduceOp op,
                                                             std::span<const std::byte> data,
                                                             const Extents& counts,
                                                             std::span<std::byte> out);
std::unique_ptr<CollectiveMachine> make_reducescatter_halving(MoveContext context, DType dtype,
                                                              ReduceOp op,
                                                              std::span<const std::byte> data,
                                                              const Extents& counts,
                                                              std::span<std::byte> out);
std::unique_ptr<CollectiveMachine> make_reducescatter_ring(MoveContext context, DType dtype,
                                                           ReduceOp op,
                                                           std::span<const std::byte> data,
                                                           const Extents& counts,
                                                           std::span<std::byte> out);
// context.host is not null.
std::unique_ptr<CollectiveMachine> make_reducescatter_hierarchical(
    MoveContext context, DType dtype, ReduceOp op, std::span<const std::byte> data,
    const Extents& counts, std::span<std::byte> out);
std::unique_ptr<CollectiveMachine> make_alltoall_pairwise(MoveContext context,
                                                          const AlltoallWork& work);
// context.host is not null, and what each member sends is known.
std::unique_ptr<CollectiveMachine> make_alltoall_hierarchical(MoveContext context,
                                                              const AlltoallWork& work);
// The member's own part is already in place in out.
std::unique_ptr<CollectiveMachine> make_allgather_direct(MoveContext context,
                                                         std::span<const std::byte> mine,
                                                         const Extents& counts,
                                                         std::span<std::byte> out);
std::unique_ptr<CollectiveMachine> make_allgather_ring(MoveContext context,
                                                       std::span<const std::byte> mine,
                                                       const Extents& counts,
                                                       std::span<std::byte> out);

// context.host is not null.
std::unique_ptr<CollectiveMachine> make_allgather_hierarchical(MoveContext context,
                                                               std::span<const std::byte> mine,
                                                               const Extents& counts,
                                                               std::span<std::byte> out);
std::unique_ptr<CollectiveMachine> make_broadcast_tree(MoveContext context, int root,
                                                       std::span<std::byte> data);
// context.host is not null.
std::unique_ptr<CollectiveMachine> make_broadcast_hierarchical(MoveContext context, int root,
                                                               std::span<std::byte> data);

}  // namespace unisono::move
