# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch tensors as memory the engine can use; arrays.py calls this once it has seen a tensor.

A gradient hook passes here once per parameter and step, so the common case, a contiguous tensor on
the CPU, costs a few attribute reads and one DLPack capsule.
"""

from __future__ import annotations

import functools
from typing import NoReturn, Optional

import torch
# torch documents to_dlpack and does not mark it as exported.
from torch.utils.dlpack import from_dlpack, to_dlpack  # type: ignore[attr-defined]

from . import _core
from .errors import InvalidArgument
from .engine_array import EngineArray

# Element types that not every version of torch exports by DLPack travel as integers of their width.
_BITS = {"bool": torch.uint8, "float8_e4m3fn": torch.uint8, "float8_e5m2": torch.uint8}


def _carried() -> dict[torch.dtype, tuple[str, Optional[torch.dtype]]]:
    """The name of every element type, and the integers it travels as, if any."""
    kinds = {getattr(torch, name, None): (name, _BITS.get(name)) for name in _core.dtypes}
    return {kind: names for kind, names in kinds.items() if kind is not None}


_CARRIED = _carried()


def to_engine(tensor: torch.Tensor, in_place: bool) -> EngineArray:
    kind = _CARRIED.get(tensor.dtype)
    if kind is None or not tensor.is_cpu or tensor.layout is not torch.strided:
        _refuse(tensor)
    if tensor.requires_grad:
        tensor = tensor.detach()
    dtype, bits = kind
    if bits is None and tensor.is_contiguous() and not tensor.is_neg():
        return EngineArray(to_dlpack(tensor), dtype, _wrap, _rows, None)
    return _convert(tensor, in_place, dtype, bits)


def _convert(tensor: torch.Tensor, in_place: bool, dtype: str,
                    bits: Optional[torch.dtype]) -> EngineArray:
    """For what is strided, lazily negated, or travels under another type."""
    memory = tensor.contiguous().resolve_neg()
    restore = functools.partial(tensor.copy_, memory) if in_place and memory is not tensor else None
    if bits is None:
        return EngineArray(to_dlpack(memory), dtype, _wrap, _rows, restore)
    wrap = functools.partial(_wrap_as, tensor.dtype)
    return EngineArray(to_dlpack(memory.view(bits)), dtype, wrap, _rows, restore)


def _wrap(ticket: _core.Ticket) -> torch.Tensor:
    return from_dlpack(ticket.output().__dlpack__())


def _wrap_as(dtype: torch.dtype, ticket: _core.Ticket) -> torch.Tensor:
    return from_dlpack(ticket.output(bits=True).__dlpack__()).view(dtype)


def _rows(counts: list[int]) -> torch.Tensor:
    return torch.tensor(counts, dtype=torch.int32)


def _refuse(tensor: torch.Tensor) -> NoReturn:
    if not tensor.is_cpu:
        raise InvalidArgument(f"the tensor is on {tensor.device} and unisono moves CPU memory; "
                              "pass tensor.cpu()")
    if tensor.layout is not torch.strided:
        raise InvalidArgument(f"the tensor's layout is {tensor.layout} and this call moves dense "
                              "memory; pass tensor.to_dense(), or use sparse_allreduce_async()")
    raise InvalidArgument(f"unisono does not carry elements of type {tensor.dtype}; cast to one "
                          "of " + ", ".join(sorted(_core.dtypes)))
