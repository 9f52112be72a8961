# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed backend ``unisono``.

    import torch.distributed as dist
    import unisono.torch

    dist.init_process_group("unisono")

Each group has an engine of its own, joined through torch's store: torch makes a group on its
members only, and groups must not wait for each other. The world's engine is also the process's default
engine, so that unisono.rank() and the rest work without unisono.init(), and it is the one of
unisono.init() if that came first.

What torch gets depends on what it has: a Backend in Python (dispatched.py) where there is such a thing,
else a ProcessGroup in Python, which it calls without its dispatcher.
"""

from __future__ import annotations

import collections
from datetime import timedelta
from typing import Any

import torch.distributed as dist
import unisono_autoload
from torch._C import _distributed_c10d as c10d

from ...errors import InvalidArgument
from .calls import NAME
from .member import Member, world_engine  # noqa: F401: for those who look for it here
from .work import Work

_KEPT = 64


def _has_python_backends() -> bool:
    try:
        c10d.Backend(0, 1)
    except TypeError:
        return False
    return hasattr(c10d.Backend, "all_gather_single") and hasattr(c10d.ProcessGroup,
                                                                  "get_group_store")


_HAS_PYTHON_BACKENDS = _has_python_backends()


# torch's stubs list how C++ is called, with overloads that torch.distributed never uses.
class PlainGroup(Member, c10d.ProcessGroup):  # type: ignore[misc]
    """A process group in Python, for versions of torch without Backends in Python."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, is_world: bool):
        c10d.ProcessGroup.__init__(self, rank, size)
        self._recent: "collections.deque[Work]" = collections.deque()
        self._named = self._described = ""
        self.join_group(store, rank, size, timeout, is_world)

    def _issued(self, work: Work) -> Work:
        """C++ that waits on a Work made in Python does not keep it alive in these versions, and
        would then wait for ever."""
        self._recent.append(work)
        while len(self._recent) > _KEPT and self._recent[0].is_completed():
            self._recent.popleft()
        return super()._issued(work)

    # These versions look for the two in the Backend that is not there.
    def _set_group_name(self, name: str) -> None:
        self._named = name

    def _set_group_desc(self, description: str) -> None:
        self._described = description

    def getGroupName(self) -> str:
        return self._named

    def getGroupDesc(self) -> str:
        return self._described

    group_name, group_desc = property(getGroupName), property(getGroupDesc)

    def split_group(self, *_: Any, **__: Any) -> Any:
        raise InvalidArgument(f"this version of torch cannot split a group on backend {NAME}; make "
                              "the smaller groups with torch.distributed.new_group()")

    def __del__(self) -> None:
        # torch before 2.6 only forgets a group that is destroyed.
        self.shutdown()


def create(options: Any, *rest: Any) -> Any:
    """torch's creator: (options, backend options), or (store, rank, size, timeout) before 2.0.1."""
    if _HAS_PYTHON_BACKENDS:
        from . import dispatched
        return dispatched.create(options)
    # The world is the group that is made while there is none.
    is_world = not dist.is_initialized()
    if hasattr(options, "group_rank"):
        return PlainGroup(options.store, options.group_rank, options.group_size, options.timeout,
                          is_world)
    rank, size, timeout = rest
    return PlainGroup(options, rank, size, timeout, is_world)


def register() -> None:
    """Makes the name known to torch; calling it again does nothing."""
    unisono_autoload.autoload()


def group_of(process_group: Any = None) -> Member:
    """The unisono side of a process group (the world by default)."""
    group = process_group if process_group is not None else dist.group.WORLD
    member = group if isinstance(group, Member) else None
    if _HAS_PYTHON_BACKENDS:
        from . import dispatched
        member = dispatched.backend_of(group)
    if member is None:
        raise InvalidArgument(f"the process group runs on backend {dist.get_backend(group)}; make "
                              f'it with init_process_group("{NAME}") or new_group on "{NAME}"')
    return member
