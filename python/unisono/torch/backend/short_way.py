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
from torch.utils.dlpack import to_dlpack  # type: ignore[attr-defined]

from ... import _core
from .group_engine import GroupEngine
from .work import Work, seconds_of

_PLAIN = (torch.Tensor, torch.nn.Parameter)
# torch's stubs do not list what is in its enumeration.
_TORCH_OPS: Any = ReduceOp.RedOpType
_REDUCTIONS = {
    int(theirs): _core.Settings(op=ours)
    for theirs, ours in ((_TORCH_OPS.SUM, _core.ReduceOp.Sum),
                         (_TORCH_OPS.AVG, _core.ReduceOp.Average),
                         (_TORCH_OPS.MAX, _core.ReduceOp.Max),
                         (_TORCH_OPS.MIN, _core.ReduceOp.Min))}
# What DLPack carries in every version of torch. Truth values have no average.
_DTYPES = {getattr(torch, name): name
           for name in ("float32", "float64", "float16", "bfloat16", "int32", "int64")}
_profiled: Any = getattr(torch.autograd, "_profiler_enabled")
_modes: Any = getattr(torch._C, "_len_torch_dispatch_stack", None)


class Watchers:
    """Who wants to see the calls of one group pass torch's dispatcher."""

    def __init__(self, group: Any, checked: bool):
        """checked: something stands around the backend that shall see every call."""
        self._group = weakref.ref(group)
        self._hooks: set[int] = set()
        self._always = (checked or _modes is None
                        or os.environ.get("TORCH_DIST_NAN_CHECK", "0") == "1")

    def add(self, hook_id: int) -> None:
        """A hook of the group. It counts for good: two kinds of hooks may have one number."""
        self._hooks.add(hook_id)

    def look_on(self) -> bool:
        if self._always or self._hooks or _modes() or _profiled():
            return True
        # torch attaches the recorder in C++, where nobody can be asked, and keeps it here.
        return self._group() in getattr(dist.distributed_c10d._world, "pg_flight_recorder_hooks", ())


def all_reduce(group: GroupEngine, tensor: torch.Tensor, opts: Any) -> Optional[Work]:
    """None where the tensor or the operator needs more care than is taken here."""
    op = opts.reduceOp
    settings = _REDUCTIONS.get(int(op.op)) if hasattr(op, "op") else None
    dtype = _DTYPES.get(tensor.dtype)
    if settings is None or dtype is None or type(tensor) not in _PLAIN:
        return None
    if (not tensor.is_cpu or tensor.layout is not torch.strided or not tensor.is_contiguous()
            or tensor.is_neg()):
        return None
    memory = to_dlpack(tensor.detach() if tensor.requires_grad else tensor)
    name = group._name()
    ticket = group.engine._core.submit(_core.Collective.allreduce, name, dtype, memory, True,
                                       settings)
    limit = seconds_of(opts.timeout) or group.timeout_s
    return Work(f"all_reduce {name}", (tensor,), group.futures, limit, (ticket,))
