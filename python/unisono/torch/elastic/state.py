# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What a training loop remembers: saved in memory, restored after a fault, equal on every rank."""

from __future__ import annotations

import abc
import copy
import queue
from typing import Any, Callable, Iterable

import torch

from ...current import engine, is_initialized
from ...engine import ReduceOp


class HostsUpdatedInterrupt(RuntimeError):
    """Hosts have come or gone, and the job should re-form; nothing is lost. skip_sync says that
    every rank's state is whole, so that the next attempt need not share it."""

    def __init__(self, skip_sync: bool = False):
        super().__init__("the hosts of the job have changed; run() forms it anew")
        self.skip_sync = skip_sync


class State(abc.ABC):
    """A state that run() can save, restore and share. Subclass it for state of your own kind."""

    def __init__(self) -> None:
        self._reset_callbacks: list[Callable[[], Any]] = []
        self._updates: queue.SimpleQueue[tuple[float, int]] = queue.SimpleQueue()

    def register_reset_callbacks(self, callbacks: Iterable[Callable[[], Any]]) -> None:
        """Calls these, in order, each time the job has formed anew: to adapt the learning rate to
        the number of ranks, for instance."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self) -> None:
        """The job has formed anew; run() calls it."""
        while not self._updates.empty():
            self._updates.get()
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp: float = 0.0, update_result: int = 1) -> None:
        """Notes that hosts have come or gone. May be called from any thread, on any rank."""
        self._updates.put((timestamp, update_result))

    def commit(self) -> None:
        """save(), then check_host_updates(). The more often, the less is repeated after a fault."""
        self.save()
        self.check_host_updates()

    def check_host_updates(self) -> None:
        """Raises HostsUpdatedInterrupt on every rank when any rank has noted a change of hosts.
        Collective: every rank calls it."""
        noted = torch.tensor([0 if self._updates.empty() else 1], dtype=torch.int32)
        if is_initialized() and engine().size() > 1:
            noted = engine().allreduce(noted, op=ReduceOp.Max, name="elastic.host_updates",
                                       codec="none")
        if noted.item():
            while not self._updates.empty():
                self._updates.get()
            raise HostsUpdatedInterrupt()

    def reset(self) -> None:
        """Adapts to the job as it is now; nothing unless overridden."""

    @abc.abstractmethod
    def save(self) -> None:
        """Keeps a copy of the state in memory."""

    @abc.abstractmethod
    def restore(self) -> None:
        """Goes back to the last save()."""

    @abc.abstractmethod
    def sync(self) -> None:
        """Copies the state of rank 0 to every rank, and saves it. Collective."""


class ObjectState(State):
    """Plain values as attributes.

        state = ObjectState(epoch=0, best=None)
        state.epoch += 1
        state.commit()
    """

    def __init__(self, **values: Any):
        super().__init__()
        self._names = list(values)
        for name, value in values.items():
            setattr(self, name, value)
        self._saved: dict[str, Any] = {}
        self.save()

    def save(self) -> None:
        # A copy: a list that training appends to must not change what restore() goes back to.
        self._saved = copy.deepcopy({name: getattr(self, name) for name in self._names})

    def restore(self) -> None:
        for name, value in copy.deepcopy(self._saved).items():
            setattr(self, name, value)

    def sync(self) -> None:
        mine = {name: getattr(self, name) for name in self._names}
        for name, value in engine().broadcast_object(mine, 0, name="elastic.values").items():
            setattr(self, name, value)
        self.save()
