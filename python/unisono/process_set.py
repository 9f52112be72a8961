# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Subsets of ranks that run collectives of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, NoReturn, Optional, Union

from .current import engine
from .errors import InvalidArgument

if TYPE_CHECKING:
    from .engine import Engine


class ProcessSet:
    """Ranks that take part in an operation. Made by hand it has no identity until
    add_process_set() has been called with it, or an equal one, on every rank."""

    def __init__(self, *ranks: Union[int, Iterable[int]]):
        listed: Iterable[Any] = ranks
        if len(ranks) == 1 and not isinstance(ranks[0], int):
            listed = ranks[0]
        self.ranks: Optional[list[int]] = sorted(listed) or None
        self.process_set_id: Optional[int] = None
        self._engine: Optional[Engine] = None

    def included(self) -> bool:
        """Whether this rank belongs to the set."""
        return self._member_of().rank() in self._ranks()

    def rank(self) -> int:
        """The position of this rank in the set."""
        rank = self._member_of().rank()
        if rank not in self._ranks():
            raise InvalidArgument(f"rank {rank} is not in {self!r}; ask included() first")
        return self._ranks().index(rank)

    def size(self) -> int:
        return len(self._ranks())

    def _ranks(self) -> list[int]:
        return self.ranks if self.ranks is not None else list(range(self._member_of().size()))

    def _member_of(self) -> Engine:
        if self.process_set_id is None:
            self._unregistered()
        if self._engine is not None:
            return self._engine
        return engine()

    def _unregistered(self) -> NoReturn:
        raise InvalidArgument(f"{self!r} is not registered; call unisono.add_process_set() "
                              "with it on every rank first")

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, ProcessSet) and self.ranks == other.ranks
                and self.process_set_id == other.process_set_id)

    def __hash__(self) -> int:
        return hash((tuple(self.ranks or ()), self.process_set_id))

    def __deepcopy__(self, _: Any) -> ProcessSet:
        """A copy of a module that uses a set uses the same set."""
        return self

    def __reduce__(self) -> Any:
        """Another process has to register the set with its own job."""
        if self.process_set_id == 0:
            return "global_process_set"
        return ProcessSet, (tuple(self.ranks or ()),)

    def __repr__(self) -> str:
        return f"ProcessSet(ranks={self.ranks or 'all'}, process_set_id={self.process_set_id})"


global_process_set = ProcessSet()
global_process_set.process_set_id = 0


def identity_of(process_set: Union[ProcessSet, int]) -> int:
    if isinstance(process_set, int):
        return process_set
    identity = process_set.process_set_id
    return identity if identity is not None else process_set._unregistered()
