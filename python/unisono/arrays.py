# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""From whatever the caller passes to memory the engine can use, and back to the caller's kind.

NumPy arrays, PyTorch CPU tensors and anything with DLPack are used in place, without a copy.
What is strided or byte-swapped is copied in and, for in-place operations, copied back once the
operation is done. No framework is imported here: a tensor proves that its framework is loaded.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from . import _core
from .errors import InvalidArgument

# Element types that cross DLPack or NumPy's buffers as integers of the same width, because not
# every version of every framework can export them.
_BITS = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "bool": "uint8"}


class Taken(NamedTuple):
    """An argument made ready: what the engine sees, and how results return to the caller."""

    memory: Any  # contiguous; its bits are of type dtype
    dtype: str  # "" when the memory says it itself
    wrap: Callable[[_core.Ticket], Any]  # an engine-owned result, as the caller's kind of array
    rows: Callable[[list[int]], Any]  # row counts, as the caller's kind of array
    restore: Optional[Callable[[], Any]]  # copies an in-place result back; None when not needed


def take(tensor: Any, in_place: bool) -> Taken:
    if isinstance(tensor, np.ndarray):
        return _take_numpy(tensor, in_place)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        return _take_torch(torch, tensor, in_place)
    if hasattr(tensor, "__dlpack__") and not isinstance(tensor, np.generic):
        return _take_dlpack(tensor)
    if in_place:
        raise InvalidArgument(
            f"an in-place operation needs an array to write to, not {type(tensor).__name__}; "
            "pass a NumPy array or a tensor, or use the out-of-place form")
    return _take_numpy(np.asarray(tensor), False)


def _take_numpy(array: np.ndarray, in_place: bool) -> Taken:
    dtype = array.dtype.name
    _check_dtype(dtype)
    if in_place and not array.flags.writeable:
        raise InvalidArgument("the array is read-only, and an in-place operation writes to it; "
                              "pass a copy, or use the out-of-place form")
    memory, restore = array, None
    if not array.flags.c_contiguous or not array.dtype.isnative:
        memory = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
        if in_place:
            def restore() -> None:
                np.copyto(array, memory)
    native = memory.dtype
    bits = _BITS.get(dtype)

    def wrap(ticket: _core.Ticket) -> np.ndarray:
        result = np.asarray(ticket.output(bits=True))
        return result.view(native) if bits else result

    seen = memory.view(bits) if bits else memory
    return Taken(seen, dtype, wrap, lambda rows: np.array(rows, np.int64), restore)


def _take_torch(torch: Any, tensor: Any, in_place: bool) -> Taken:
    dtype = str(tensor.dtype).removeprefix("torch.")
    _check_dtype(dtype)
    if tensor.device.type != "cpu":
        raise InvalidArgument(f"the tensor is on {tensor.device} and this engine moves CPU memory; "
                              "pass tensor.cpu()")
    tensor = tensor.detach()
    memory, restore = tensor, None
    if not tensor.is_contiguous():
        memory = tensor.contiguous()
        if in_place:
            def restore() -> None:
                tensor.copy_(memory)
    bits = _BITS.get(dtype)

    def wrap(ticket: _core.Ticket) -> Any:
        result = torch.from_dlpack(ticket.output(bits=True))
        return result.view(tensor.dtype) if bits else result

    seen = memory.view(getattr(torch, bits)) if bits else memory
    return Taken(seen, dtype, wrap, torch.tensor, restore)


def _take_dlpack(tensor: Any) -> Taken:
    namespace = _namespace(tensor)

    def wrap(ticket: _core.Ticket) -> Any:
        return namespace.from_dlpack(ticket.output())

    return Taken(tensor, "", wrap, namespace.asarray, None)


def _namespace(tensor: Any) -> Any:
    if hasattr(tensor, "__array_namespace__"):
        return tensor.__array_namespace__()
    module = sys.modules.get(type(tensor).__module__.partition(".")[0])
    return module if hasattr(module, "from_dlpack") and hasattr(module, "asarray") else np


def _check_dtype(dtype: str) -> None:
    if dtype not in _core.dtypes:
        raise InvalidArgument(f"unisono does not carry elements of type {dtype}; cast to one of "
                              + ", ".join(sorted(_core.dtypes)))
