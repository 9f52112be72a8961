# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""all_reduce of sparse tensors in a process group: shapes, indices and values are gathered, and every
rank adds up what meets at one index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch
from torch._C._distributed_c10d import ReduceOp

from ...errors import InvalidArgument, Mismatch
from .elements import like, named

if TYPE_CHECKING:
    from .group_engine import GroupEngine


def summed(group: "GroupEngine", tensor: torch.Tensor,
           op: Any) -> tuple[list[Any], Callable[[], Any]]:
    """Tickets of the gathers, and what puts the sum into the tensor once they are there."""
    if not tensor.is_sparse or not (op == ReduceOp.SUM or op == ReduceOp.AVG):
        raise InvalidArgument(f"sparse tensors are reduced with SUM or AVG, all of a call being "
                              f"torch.sparse_coo; this one is {tensor.layout} with {named(op)}. Use "
                              "tensor.to_dense() for others")
    own = tensor.detach().coalesce()
    values = own.values()
    shapes, shapes_of = group.gathering(torch.tensor([own.shape]))
    rows, rows_of = group.gathering(own.indices().t().contiguous())
    entries, entries_of = group.gathering(values)

    def finish() -> None:
        for rank, shape in enumerate(shapes_of(shapes).tolist()):
            if shape != list(own.shape):
                raise Mismatch(f"all_reduce of sparse tensors: rank {rank} of the group has shape "
                               f"{shape} and rank {group.rank} {list(own.shape)}; make them equal")
        indices = rows_of(rows)
        arrived = like(entries_of(entries), values.new_empty(len(indices), *values.shape[1:]))
        total = torch.sparse_coo_tensor(indices.t(), arrived, own.shape).coalesce()
        if op == ReduceOp.AVG:
            total = _divided(total, group.size)
        tensor.copy_(total)

    return [shapes, rows, entries], finish


def _divided(total: torch.Tensor, ranks: int) -> torch.Tensor:
    whole = not (total.is_floating_point() or total.is_complex())
    values = torch.div(total.values(), ranks, rounding_mode="trunc" if whole else None)
    return torch.sparse_coo_tensor(total.indices(), values, total.shape)
