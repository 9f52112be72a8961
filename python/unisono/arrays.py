# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""From whatever the caller passes to memory the engine can use, and back to the caller's kind.

NumPy arrays, PyTorch CPU tensors and anything with DLPack are used in place, without a copy.
What is strided or byte-swapped is copied in and, for in-place operations, copied back once the
operation is done. No framework is imported here: a tensor proves that its framework is loaded.
"""

from __future__ import annotations

import sys
from typing import Any, Callable

import numpy as np

from . import _core
from .errors import InvalidArgument
from .engine_array import EngineArray

# Element types that NumPy's buffers cannot name cross them as integers of the same width.
_BITS = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "bool": "uint8"}


def to_engine(tensor: Any, in_place: bool) -> EngineArray:
    known = _converters.get(type(tensor))
    if known is not None:
        return known(tensor, in_place)
    if isinstance(tensor, np.ndarray):
        return _from_numpy(tensor, in_place)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        from . import torch_arrays
        _converters[type(tensor)] = torch_arrays.to_engine
        return torch_arrays.to_engine(tensor, in_place)
    if hasattr(tensor, "__dlpack__") and not isinstance(tensor, np.generic):
        return _from_dlpack(tensor)
    if in_place:
        raise InvalidArgument(
            f"an in-place operation needs an array to write to, not {type(tensor).__name__}; "
            "pass a NumPy array or a tensor, or use the out-of-place form")
    return _from_numpy(np.asarray(tensor), False)


def _from_numpy(array: np.ndarray, in_place: bool) -> EngineArray:
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
    return EngineArray(seen, dtype, wrap, lambda rows: np.array(rows, np.int64), restore)


def _from_dlpack(tensor: Any) -> EngineArray:
    namespace = _namespace(tensor)

    def wrap(ticket: _core.Ticket) -> Any:
        return namespace.from_dlpack(ticket.output())

    return EngineArray(tensor, "", wrap, namespace.asarray, None)


def _namespace(tensor: Any) -> Any:
    if hasattr(tensor, "__array_namespace__"):
        return tensor.__array_namespace__()
    module = sys.modules.get(type(tensor).__module__.partition(".")[0])
    return module if hasattr(module, "from_dlpack") and hasattr(module, "asarray") else np


def _check_dtype(dtype: str) -> None:
    if dtype not in _core.dtypes:
        raise InvalidArgument(f"unisono does not carry elements of type {dtype}; cast to one of "
                              + ", ".join(sorted(_core.dtypes)))


# The types seen so far; what is not here is recognised the long way.
_converters: dict[type, Callable[[Any, bool], EngineArray]] = {np.ndarray: _from_numpy}
