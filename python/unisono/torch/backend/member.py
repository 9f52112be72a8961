# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""One rank's part in one process group: its engine, from joining to leaving."""

from __future__ import annotations

import atexit
import os
import weakref
from datetime import timedelta
from typing import Any

from ... import current
from ...engine import Engine
from ...errors import InvalidArgument
from . import rendezvous
from .calls import NAME, Calls
from .group_engine import GroupEngine
from .point_to_point import PointToPoint

_LONGEST_S = 1e6  # what "no limit" comes to
_alive: "weakref.WeakSet[Member]" = weakref.WeakSet()


class Member(Calls):
    """To be mixed into the ProcessGroup or Backend through which torch makes the calls."""

    _left = True  # until it has joined

    def join_group(self, store: Any, rank: int, size: int, timeout: timedelta,
                   is_world: bool) -> None:
        """Meets the others. The world's engine becomes the process's default engine, or is the one
        that unisono.init() has made."""
        self._store, self._pid = store, os.getpid()
        timeout_s = min(timeout.total_seconds(), _LONGEST_S)
        own = rendezvous.default_engine(rank, size) if is_world else None
        engine, self._owned = rendezvous.join(store, rank, size, timeout_s,
                                              f"process group of {size} on backend {NAME}",
                                              may_reuse=own, order="program")
        self.is_world, self._made_with_s = is_world, timeout_s
        self._adopted = is_world and self._owned and current.adopt(engine)
        self._group = GroupEngine(engine, timeout_s)
        self._point_to_point = PointToPoint(store, rank, size, timeout_s)
        self.hook_state: Any = None  # of ddp_hook, where the caller keeps none
        self._left = False
        _alive.add(self)

    @property
    def engine(self) -> Any:
        """The unisono.Engine of this group."""
        return self._group.engine

    @property
    def collectives(self) -> GroupEngine:
        return self._group

    def set_timeout(self, timeout: timedelta) -> None:
        """For the calls to come. It can only become shorter: the ranks have agreed, when they made
        the group, how long they wait for a rank that never calls."""
        limit_s = min(timeout.total_seconds(), _LONGEST_S)
        if not 0 < limit_s <= self._made_with_s:
            raise InvalidArgument(
                f"the group was made with a timeout of {self._made_with_s:g} s, after which its "
                f"engine no longer waits for a missing rank, so {limit_s:g} s cannot be set; make "
                "the group with the longest timeout it will need, and shorten it where that helps")
        self._group.timeout_s = self._point_to_point.timeout_s = limit_s

    def shutdown(self) -> None:
        """Leaves the group; what is pending fails with unisono.ShutDown."""
        if self._left or os.getpid() != self._pid:
            return  # Once is enough, and a forked child's copy is the parent's group.
        self._left = True
        self._point_to_point.close()
        # A program that has called unisono.init() since goes on with the engine.
        ends = self._owned and (not self._adopted or current.release(self.engine))
        self._group.close(leave=ends)
        _alive.discard(self)

    abort = shutdown


def world_engine() -> Any:
    """The unisono.Engine of the world's process group where it runs on backend unisono, else None.

    It is the default engine already, unless unisono.init() made one before: hvd.init() after
    init_process_group("unisono") has nothing to join, only to find this engine there."""
    engines = [member.engine for member in list(_alive) if member.is_world]
    return next((engine for engine in engines if isinstance(engine, Engine)), None)


@atexit.register
def _leave_all() -> None:
    for member in list(_alive):
        member.shutdown()
