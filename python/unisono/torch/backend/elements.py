# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of any element type as elements the engine knows, and back."""

from __future__ import annotations

from typing import Any, Sequence

import torch
from torch._C._distributed_c10d import ReduceOp

from ... import _core
from ...errors import InvalidArgument


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as real numbers, without a copy."""
    if tensor.layout != torch.strided:
        raise InvalidArgument(f"the backend unisono moves dense tensors, not {tensor.layout}; pass "
                              "tensor.to_dense(). all_reduce takes torch.sparse_coo, too")
    return torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor


def movable(tensor: torch.Tensor) -> torch.Tensor:
    """The same for tensors that are only moved: any element type will do."""
    tensor = plain(tensor)
    if str(tensor.dtype).removeprefix("torch.") in _core.dtypes:
        return tensor
    # One element alone, without a dimension, cannot be seen as several bytes.
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def width(tensor: torch.Tensor) -> int:
    """How many elements of movable(tensor) make one of the tensor."""
    if tensor.is_complex():
        return 2
    return 1 if str(tensor.dtype).removeprefix("torch.") in _core.dtypes else tensor.element_size()


def like(flat: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """What arrived, in the type and shape of the tensor that takes it."""
    if flat.dtype != output.dtype:
        flat = flat.contiguous().reshape(-1).view(output.dtype)
    return flat.reshape(output.shape)


def deal(arrived: torch.Tensor, outputs: Sequence[torch.Tensor]) -> None:
    if not outputs:
        return
    arrived = arrived.reshape(-1)
    if arrived.dtype != outputs[0].dtype:
        arrived = arrived.view(outputs[0].dtype)
    first = 0
    for output in outputs:
        output.copy_(arrived[first:first + output.numel()].reshape(output.shape))
        first += output.numel()


def named(op: Any) -> str:
    """torch's operators do not say what they are."""
    return next((name for name in ReduceOp.RedOpType.__members__ if op == getattr(ReduceOp, name)),
                str(op))
