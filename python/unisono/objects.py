# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Python objects across ranks.

The bytes are pickles, and unpickling runs code. They travel only as the payload of collectives
among the ranks of this job, which have proved that they hold the job's key; nothing is ever
unpickled from an unauthenticated socket.

Pickling and unpickling are the user's code and may fail on one rank alone. Such a rank says why
instead of its object, and once the objects have been unpickled the ranks tell each other how that
went: all of them raise, or none.
"""

from __future__ import annotations

import importlib
import pickle
import struct
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Union

import numpy as np

from .errors import PickleFailed
from .process_set import ProcessSet, global_process_set, identity_of

if TYPE_CHECKING:
    from .engine import Engine

# How many bytes follow; fewer than 0 when they are not the object, but why there is none.
_SIZE = struct.Struct("<q")
_LONGEST_REASON = 2000
_MOST_REASONS = 4  # as many as anybody reads


class _Parcel(NamedTuple):
    """An object as bytes, or the reason why it is not."""

    size: int
    content: bytes
    error: Optional[Exception] = None


def broadcast_object(engine: Engine, obj: Any = None, root_rank: int = 0,
                     name: Optional[str] = None,
                     process_set: Union[ProcessSet, int] = global_process_set) -> Any:
    call = _Call(engine, "broadcast_object", name, process_set)
    if engine.rank() == root_rank:
        parcel = _packed(obj)
        engine.broadcast_(np.array([parcel.size], np.int64), root_rank, name=f"{call.name}.size",
                          process_set=process_set)
        engine.broadcast(np.frombuffer(parcel.content, np.uint8), root_rank,
                         name=f"{call.name}.data", process_set=process_set)
        if parcel.error is not None:
            raise call.not_pickled({root_rank: parcel.content}) from parcel.error
        call.settle(None)
        return obj
    size = np.zeros(1, np.int64)
    engine.broadcast_(size, root_rank, name=f"{call.name}.size", process_set=process_set)
    data = np.empty(abs(int(size[0])), np.uint8)
    engine.broadcast_(data, root_rank, name=f"{call.name}.data", process_set=process_set)
    if size[0] < 0:
        raise call.not_pickled({root_rank: data.data})
    return call.unpacked({root_rank: data.data})[0]


def allgather_object(engine: Engine, obj: Any, name: Optional[str] = None,
                     process_set: Union[ProcessSet, int] = global_process_set) -> list[Any]:
    call = _Call(engine, "allgather_object", name, process_set)
    mine = _packed(obj)
    parcels = call.exchanged("data", mine)
    reasons = {rank: content for rank, (size, content) in parcels.items() if size < 0}
    if reasons:
        raise call.not_pickled(reasons) from mine.error
    return call.unpacked({rank: content for rank, (_, content) in parcels.items()})


class _Call:
    """One call: what it is named and who takes part."""

    def __init__(self, engine: Engine, what: str, name: Optional[str],
                 process_set: Union[ProcessSet, int]):
        self._engine, self._what, self._set = engine, what, process_set
        self._shown = f'{what} "{name or "object"}"'
        self.name = f"{what}.{name or 'object'}"

    def exchanged(self, part: str, mine: _Parcel) -> dict[int, tuple[int, Any]]:
        """Every rank's size and content, by rank."""
        sent = np.frombuffer(_SIZE.pack(mine.size) + mine.content, np.uint8)
        received = self._engine.allgather(sent, name=f"{self.name}.{part}", process_set=self._set)
        return dict(zip(self._ranks(), _cut(memoryview(received))))

    def unpacked(self, pickles: dict[int, Any]) -> list[Any]:
        """The objects, once every rank has been able to make them."""
        objects = []
        for rank, content in pickles.items():
            try:
                objects.append(pickle.loads(content))
            except Exception as error:  # whatever the class of the object raises
                self.settle(error, f"the object of rank {rank}")
        self.settle(None)
        return objects

    def settle(self, error: Optional[Exception], what: str = "") -> None:
        """Tells the others how unpickling went here; raises if it has failed anywhere."""
        reason = b"" if error is None else f"{what}: ".encode() + _reason(error)
        told = self.exchanged("settled", _Parcel(len(reason), reason))
        failed = {rank: text for rank, (_, text) in told.items() if len(text)}
        if failed:
            raise self._failure("cannot unpickle", failed, "Make the classes that it is made of "
                                "importable on every rank, or send plain values.") from error

    def not_pickled(self, reasons: dict[int, Any]) -> PickleFailed:
        mend = "Send what can be pickled"
        if _cloudpickle() is None:
            mend += ", or install cloudpickle on every rank for functions and classes of the moment"
        return self._failure("cannot pickle its object:", reasons, f"{mend}.")

    def _failure(self, what: str, reasons: dict[int, Any], mend: str) -> PickleFailed:
        told = [f"rank {rank} {what} {bytes(reason).decode(errors='replace')}"
                for rank, reason in list(reasons.items())[:_MOST_REASONS]]
        if len(reasons) > len(told):
            told.append(f"so it is on {len(reasons) - len(told)} more ranks")
        failure = PickleFailed(f"{self._shown}: {'; '.join(told)}. {mend}")
        failure.rank = next(iter(reasons))
        return failure

    def _ranks(self) -> list[int]:
        identity = identity_of(self._set)
        if identity == 0:
            return list(range(self._engine.size()))
        return list(self._engine._core.process_set(identity))


def _packed(obj: Any) -> _Parcel:
    try:
        content = _dumps(obj)
        return _Parcel(len(content), content)
    except Exception as error:  # whatever the class of the object raises
        reason = _reason(error)
        return _Parcel(-len(reason), reason, error)


def _dumps(obj: Any) -> bytes:
    return (_cloudpickle() or pickle).dumps(obj)


def _cloudpickle() -> Any:
    """Pickles lambdas, closures and what __main__ defines, which pickle cannot."""
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        return None


def _reason(error: Exception) -> bytes:
    return f"{type(error).__name__}: {error}"[:_LONGEST_REASON].encode(errors="replace")


def _cut(received: memoryview) -> Iterator[tuple[int, memoryview]]:
    start = 0
    while start < len(received):
        size, = _SIZE.unpack_from(received, start)
        start += _SIZE.size
        yield size, received[start:start + abs(size)]
        start += abs(size)
