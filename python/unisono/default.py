# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The default engine of the process, and the calls of Horovod's shape on top of it."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import threading
from typing import Any, Callable, Concatenate, Iterable, Optional, ParamSpec, TypeVar, Union

from . import _core
from .config import chosen_options
from .engine import Engine, make_options
from .errors import Error, Forked, NotInitialized
from .process_set import ProcessSet

_P = ParamSpec("_P")
_T = TypeVar("_T")
_lock = threading.Lock()
_engine: Optional[Engine] = None
_pid = 0


def init(options: Union[_core.Options, dict, None] = None, *,
         process_sets: Iterable[ProcessSet] = (), **overrides: Any) -> None:
    """Joins the job. The environment is read here, not at import. Calling it again with the same
    options does nothing; after shutdown() it joins anew."""
    global _engine, _pid
    if not isinstance(options, _core.Options):
        overrides = {**chosen_options(), **(options or {}), **overrides}
        options = None
    with _lock:
        if is_initialized():
            _check_same(make_options(options, overrides), engine().options())
            return
        joined = Engine(options, **overrides)
        _engine, _pid = joined, os.getpid()
    for process_set in process_sets:
        joined.add_process_set(process_set)


def adopt(engine: Engine) -> bool:
    """Makes a joined engine the default one, unless there is one; shutdown() then ends it."""
    global _engine, _pid
    with _lock:
        if is_initialized():
            return False
        _engine, _pid = engine, os.getpid()
        return True


def release(engine: Engine) -> None:
    """Undoes adopt(): the engine's owner ends it."""
    global _engine
    with _lock:
        if _engine is engine:
            _engine = None


def shutdown() -> None:
    """Leaves the job; what is pending fails with unisono.ShutDown. Runs at exit by itself."""
    global _engine
    with _lock:
        if _engine is not None and _pid == os.getpid():
            _engine.shutdown()
            _engine = None


def is_initialized() -> bool:
    """Whether this process is in a job: init() has been called, and shutdown() not since."""
    return _engine is not None and _pid == os.getpid()


def engine() -> Engine:
    """The engine that init() made."""
    current = _engine
    if current is None:
        raise NotInitialized("unisono has not been initialized; call unisono.init() first.")
    if _pid != os.getpid():
        raise Forked(f"the engine belongs to process {_pid}, which forked this one; call "
                     "unisono.init() here, or start processes with spawn.")
    return current


def _check_same(asked: _core.Options, running: _core.Options) -> None:
    differ = [f"{key} is {running.get(key)!r}, now {asked.get(key)!r} was asked for"
              for key in _core.Options.keys() if asked.get(key) != running.get(key)]
    if differ:
        raise Error("unisono is initialized already with other options: " + "; ".join(differ)
                    + ". Call unisono.shutdown() first.")


def _on_default(method: Callable[Concatenate[Engine, _P], _T]) -> Callable[_P, _T]:
    """The module-level twin of a method of Engine."""

    @functools.wraps(method)
    def call(*args: _P.args, **keywords: _P.kwargs) -> _T:
        return method(engine(), *args, **keywords)

    signature = inspect.signature(method)
    shown = signature.replace(parameters=list(signature.parameters.values())[1:])
    call.__signature__ = shown  # type: ignore[attr-defined]  # inspect's own way to say it
    call.__qualname__, call.__module__ = method.__name__, "unisono"
    return call


rank = _on_default(Engine.rank)
size = _on_default(Engine.size)
local_rank = _on_default(Engine.local_rank)
local_size = _on_default(Engine.local_size)
cross_rank = _on_default(Engine.cross_rank)
cross_size = _on_default(Engine.cross_size)
placement = _on_default(Engine.placement)
stats = _on_default(Engine.stats)
timings = _on_default(Engine.timings)
switch_order = _on_default(Engine.switch_order)
start_timeline = _on_default(Engine.start_timeline)
stop_timeline = _on_default(Engine.stop_timeline)
arena_empty = _on_default(Engine.arena_empty)
allreduce = _on_default(Engine.allreduce)
allreduce_async = _on_default(Engine.allreduce_async)
allreduce_ = _on_default(Engine.allreduce_)
allreduce_async_ = _on_default(Engine.allreduce_async_)
grouped_allreduce = _on_default(Engine.grouped_allreduce)
grouped_allreduce_async = _on_default(Engine.grouped_allreduce_async)
grouped_allreduce_ = _on_default(Engine.grouped_allreduce_)
grouped_allreduce_async_ = _on_default(Engine.grouped_allreduce_async_)
allgather = _on_default(Engine.allgather)
allgather_async = _on_default(Engine.allgather_async)
grouped_allgather = _on_default(Engine.grouped_allgather)
grouped_allgather_async = _on_default(Engine.grouped_allgather_async)
broadcast = _on_default(Engine.broadcast)
broadcast_async = _on_default(Engine.broadcast_async)
broadcast_ = _on_default(Engine.broadcast_)
broadcast_async_ = _on_default(Engine.broadcast_async_)
reducescatter = _on_default(Engine.reducescatter)
reducescatter_async = _on_default(Engine.reducescatter_async)
grouped_reducescatter = _on_default(Engine.grouped_reducescatter)
grouped_reducescatter_async = _on_default(Engine.grouped_reducescatter_async)
alltoall = _on_default(Engine.alltoall)
alltoall_async = _on_default(Engine.alltoall_async)
barrier = _on_default(Engine.barrier)
join = _on_default(Engine.join)
broadcast_object = _on_default(Engine.broadcast_object)
allgather_object = _on_default(Engine.allgather_object)
add_process_set = _on_default(Engine.add_process_set)
remove_process_set = _on_default(Engine.remove_process_set)

__all__ = [
    "init", "shutdown", "is_initialized", "rank", "size", "local_rank", "local_size",
    "cross_rank", "cross_size", "placement", "stats", "timings", "switch_order",
    "start_timeline", "stop_timeline", "arena_empty", "allreduce", "allreduce_async",
    "allreduce_", "allreduce_async_", "grouped_allreduce", "grouped_allreduce_async",
    "grouped_allreduce_", "grouped_allreduce_async_", "allgather", "allgather_async",
    "grouped_allgather", "grouped_allgather_async", "broadcast", "broadcast_async",
    "broadcast_", "broadcast_async_", "reducescatter", "reducescatter_async",
    "grouped_reducescatter", "grouped_reducescatter_async", "alltoall", "alltoall_async",
    "barrier", "join", "broadcast_object", "allgather_object", "add_process_set",
    "remove_process_set",
]
atexit.register(shutdown)
