# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""All gradients of a step in one call, for training loops without DistributedOptimizer.

    loss.backward()
    hvd.gradients([p.grad for p in model.parameters()])
    optimizer.step()
"""

from __future__ import annotations

from typing import Any, Iterable, Optional

import torch

from ...engine import ReduceOp
from ...errors import InvalidArgument
from ...groups import split_groups
from ...process_set import ProcessSet, global_process_set
from ..compression import Compression
from .transfer import Transfer, engine_of


def gradients(tensors: Iterable[torch.Tensor], *, name: str = "gradients",
              op: ReduceOp = ReduceOp.Average, num_groups: Optional[int] = None,
              balance: str = "bytes", compression: Any = Compression.none,
              process_set: ProcessSet = global_process_set) -> list[torch.Tensor]:
    """Combines every rank's tensors in place and returns them. They travel and are checked as one
    group, or as num_groups that weigh the same (balance="bytes") or have as many tensors
    ("count"). Every rank passes the same number of tensors, of the same shapes, in the same order.
    """
    tensors = list(tensors)
    for place, tensor in enumerate(tensors):
        _check(place, tensor)
    transfer = Transfer(engine_of(process_set), process_set, op, 1.0, compression,
                        sparse_as_dense=False, local=not process_set.included())
    waits = []
    for number, run in enumerate(_runs(tensors, num_groups, balance)):
        waits += transfer.dense(f"{name}.{number}", [tensors[place] for place in run], True)
    for wait in waits:
        wait()
    return tensors


def _runs(tensors: list[torch.Tensor], num_groups: Optional[int], balance: str) -> list[list[int]]:
    if not tensors:
        return []
    sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
    return split_groups(sizes, 1 if num_groups is None else num_groups, balance)


def _check(place: int, tensor: Any) -> None:
    if tensor is None:
        raise InvalidArgument(f"gradients()[{place}] is None: this rank computed no gradient for "
                              "it, and another may have; pass torch.zeros_like(parameter)")
    if not isinstance(tensor, torch.Tensor):
        raise InvalidArgument(f"gradients()[{place}] is a {type(tensor).__name__}; pass tensors")
    if tensor.layout is not torch.strided:
        raise InvalidArgument(f"gradients()[{place}] is sparse; pass tensor.to_dense(), or use "
                              "sparse_allreduce_async()")


__all__ = ["gradients"]
