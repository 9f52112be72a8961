# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse gradients. Those of single elements are reduced by the engine, which chooses how. Rows, as of
an embedding, are gathered and duplicates add up: one index for a whole row is less than the engine's
one for each of its elements."""

from __future__ import annotations

from typing import Any, Optional

import torch

from ..current import engine
from ..engine import AnySet, ReduceOp
from ..errors import InvalidArgument
from ..handle import Handle
from ..process_set import global_process_set
from .autograd import place_in


class SparseHandle(Handle):
    """Call it, or pass it to synchronize(), for the sparse tensor."""

    __slots__ = ()

    def __call__(self) -> torch.Tensor:
        return self.wait()


def sparse_allreduce_async(tensor: torch.Tensor, name: Optional[str] = None,
                           op: Optional[ReduceOp] = ReduceOp.Average,
                           process_set: AnySet = global_process_set) -> SparseHandle:
    """Starts the sum or average of every rank's sparse tensor; ranks may differ in non-zeros.

        finish = hvd.sparse_allreduce_async(embedding.weight.grad, name="embedding", op=hvd.Sum)
        embedding.weight.grad = finish()

    The result of a tensor with dense dimensions, such as an embedding's gradient, is not coalesced:
    an index that several ranks sent appears several times. Any other result is."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.sparse_coo:
        raise InvalidArgument("sparse_allreduce_async() takes a tensor of layout torch.sparse_coo; "
                              "use allreduce_async() for dense ones, or tensor.to_sparse()")
    op = ReduceOp.Average if op is None else op
    if op not in (ReduceOp.Sum, ReduceOp.Average):
        raise InvalidArgument(f"sparse tensors cannot be reduced with {op}; use Sum or Average")
    ranks = place_in(process_set)[1]
    if tensor.dense_dim() == 0:
        reducing = engine().sparse_allreduce_async(tensor, name=name, op=op,
                                                   process_set=process_set)
        return SparseHandle(reducing._tickets, reducing._finish)
    once = tensor.detach().coalesce()
    gathering = engine().grouped_allgather_async(
        [once.indices().t().contiguous(), once.values()],
        name=None if name is None else f"sparse.{name}", process_set=process_set)
    shape = once.size()

    def finish() -> torch.Tensor:
        indices, values = gathering.wait()
        if op == ReduceOp.Average:
            values = _divided(values, ranks)
        return torch.sparse_coo_tensor(indices.t(), values, shape)

    return SparseHandle(gathering._tickets, finish)


def _divided(values: torch.Tensor, ranks: int) -> Any:
    if values.dtype.is_floating_point:
        return values / ranks
    return torch.div(values, ranks, rounding_mode="trunc")


__all__ = ["sparse_allreduce_async"]
