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
_of_a_group = False  # whether the engine was made for a process group
_claimed = False  # whether init() has been called, so that the engine lives until shutdown()
# What a process group takes from its own timeout, so that it differs from the environment's.
_OF_A_GROUP = ("join_timeout_s", "stall_limit_s")


def init(options: Union[_core.Options, dict, None] = None, *,
         process_sets: Iterable[ProcessSet] = (), **overrides: Any) -> None:
    """Joins the job. The environment is read here, not at import. Calling it again with the same
    options does nothing; after shutdown() it joins anew. After init_process_group("unisono") it
    takes the world group's engine, which then lives until shutdown()."""
    global _claimed
    if not isinstance(options, _core.Options):
        overrides = {**chosen_options(), **(options or {}), **overrides}
        options = None
    with _lock:
        if is_initialized():
            joined = engine()
            ignored = [key for key in _OF_A_GROUP if _of_a_group and key not in overrides]
            _check_same(make_options(options, overrides), joined.options(), ignored)
            if _claimed:
                return
        else:
            joined = Engine(options, **overrides)
            _install(joined, of_a_group=False)
        _claimed = True
    for process_set in process_sets:
        joined.add_process_set(process_set)


def adopt(engine: Engine) -> bool:
    """Makes a joined engine the default one, unless there is one; shutdown() then ends it."""
    with _lock:
        if is_initialized():
            return False
        _install(engine, of_a_group=True)
        return True


def _install(engine: Engine, of_a_group: bool) -> None:
    global _engine, _pid, _of_a_group, _claimed
    _engine, _pid, _of_a_group, _claimed = engine, os.getpid(), of_a_group, False


def release(engine: Engine) -> bool:
    """Undoes adopt(). False when the program has called init() since: then it still uses the
    engine, and the engine's owner leaves it to shutdown()."""
    global _engine
    with _lock:
        if _engine is engine and _claimed:
            return False
        if _engine is engine:
            _engine = None
        return True


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


def _check_same(asked: _core.Options, running: _core.Options, ignored: Iterable[str]) -> None:
    differ = [f"{key} is {running.get(key)!r}, now {asked.get(key)!r} was asked for"
              for key in _core.Options.keys()
              if asked.get(key) != running.get(key) and key not in ignored]
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
