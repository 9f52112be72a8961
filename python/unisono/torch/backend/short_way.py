# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The short way of a sum: from the group's call straight to the engine.

torch's dispatcher lets profilers, modes and hooks see a call, and takes longer than the exchange of
a short tensor. Where nobody looks on, a sum of one plain tensor does not pass it. The flight recorder
is a hook, and on by default: TORCH_FR_BUFFER_SIZE=0 turns it off.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import ReduceOp

from ... import _core, torch_arrays
from .group_engine import GroupEngine
from .work import Work

_PLAIN = (torch.Tensor, torch.nn.Parameter)
# torch's stubs do not list what is in its enumeration.
_TORCH_OPS: Any = ReduceOp.RedOpType
_REDUCTIONS = {
    int(theirs): _core.Settings(op=ours)
    for theirs, ours in ((_TORCH_OPS.SUM, _core.ReduceOp.Sum),
                         (_TORCH_OPS.AVG, _core.ReduceOp.Average),
                         (_TORCH_OPS.MAX, _core.ReduceOp.Max),
                         (_TORCH_OPS.MIN, _core.ReduceOp.Min))}
_profiled: Any = getattr(torch.autograd, "_profiler_enabled")
_modes: Any = getattr(torch._C, "_len_torch_dispatch_stack", None)


class Watchers:
    """Who wants to see the calls of one group pass torch's dispatcher."""

    def __init__(self, group: Any, checked: bool):
        """checked: something stands around the backend that shall see every call."""
        self._group = weakref.ref(group)
        self._always = (checked or _modes is None
                        or os.environ.get("TORCH_DIST_NAN_CHECK", "0") == "1")

    def hooked(self) -> None:
        """The group has a hook. It counts for good: two kinds of hooks may have one number."""
        self._always = True

    def look_on(self) -> bool:
        if self._always or _modes() or _profiled():
            return True
        # torch attaches the recorder in C++, where nobody can be asked, and keeps it here.
        return self._group() in getattr(dist.distributed_c10d._world, "pg_flight_recorder_hooks", ())


def all_reduce(group: GroupEngine, tensor: torch.Tensor, op: Any,
               timeout_s: float) -> Optional[Work]:
    """None where the tensor or the operator needs more care than is taken here."""
    settings = _REDUCTIONS.get(int(op.op)) if hasattr(op, "op") else None
    if settings is None or type(tensor) not in _PLAIN or tensor.layout is not torch.strided:
        return None
    # Truth values have no average, and complex numbers travel as pairs.
    if tensor.dtype is torch.bool or tensor.is_complex() or not tensor.is_contiguous():
        return None
    array = torch_arrays.to_engine(tensor, True)
    name = group._name()
    ticket = group._submit(_core.Collective.allreduce, name, array, True, settings)
    return group._work(f"all_reduce {name}", (tensor,), (ticket,), timeout_s, array.restore)
