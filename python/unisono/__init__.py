# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient exchange for data-parallel training: named asynchronous collectives.

    import numpy as np
    import unisono

    unisono.init()
    mean = unisono.allreduce(np.ones(4), name="gradient")

Started by ``unisono run -np 2 python train.py``, or by torchrun, mpirun or srun.
"""

from typing import Any, Optional

from . import default as _default
from ._core import Options, ReduceOp, ThreadWorld, dtypes
from ._core import version as __version__
from .config import config
from .default import *  # noqa: F401,F403: the calls of Horovod's shape, listed there
from .engine import Engine
from .errors import (Corrupted, DuplicateName, Error, Forked, HorovodInternalError, Internal,
                     InvalidArgument, Mismatch, NotInitialized, OutOfMemory, PeerLeft, PeerLost,
                     PickleFailed, Refused, ShutDown, Stalled, Timeout, Unavailable)
from .groups import split_groups
from .handle import Handle
from .process_set import ProcessSet, global_process_set

Sum, Average, Min, Max = ReduceOp.Sum, ReduceOp.Average, ReduceOp.Min, ReduceOp.Max
Product, And, Or = ReduceOp.Product, ReduceOp.And, ReduceOp.Or
Adasum = ReduceOp.Adasum


def poll(handle: Handle) -> bool:
    """Whether synchronize() would return at once."""
    return handle.done()


def synchronize(handle: Handle, timeout: Optional[float] = None) -> Any:
    """The result of an asynchronous call. Raises what went wrong, or unisono.Timeout."""
    return handle.wait(timeout)


__all__ = [
    "poll", "synchronize", "split_groups", "config", "Engine", "Handle", "Options", "ThreadWorld",
    "ProcessSet", "global_process_set", "ReduceOp", "Sum", "Average", "Min", "Max", "Product",
    "And", "Or", "Adasum", "dtypes", "Error", "HorovodInternalError", "InvalidArgument",
    "DuplicateName", "Mismatch", "PeerLost", "PeerLeft", "Timeout", "Stalled", "NotInitialized",
    "ShutDown", "Forked", "Refused", "Unavailable", "Corrupted", "OutOfMemory", "Internal",
    "PickleFailed",
]
# Type checkers follow this form, and no unpacking.
__all__ += _default.__all__
