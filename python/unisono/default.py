# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The default engine of the process, and the calls of Horovod's shape on top of it."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import threading
from typing import Any, Callable, Iterable, Optional, TypeVar, Union

from . import _core
from .engine import Engine, make_options
from .errors import Error, Forked, NotInitialized
from .process_set import ProcessSet

_T = TypeVar("_T")
_lock = threading.Lock()
_engine: Optional[Engine] = None
_pid = 0


def init(options: Union[_core.Options, dict, None] = None, *,
         process_sets: Iterable[ProcessSet] = (), **overrides: Any) -> None:
    """Joins the job. The environment is read here, not at import. Calling it again with the same
    options does nothing; after shutdown() it joins anew."""
    global _engine, _pid
    with _lock:
        if is_initialized():
            _check_same(make_options(options, overrides), _engine.options())
            return
        _engine, _pid = Engine(options, **overrides), os.getpid()
    for process_set in process_sets:
        _engine.add_process_set(process_set)


def shutdown() -> None:
    """Leaves the job; what is pending fails with unisono.ShutDown. Runs at exit by itself."""
    global _engine
    with _lock:
        if _engine is not None and _pid == os.getpid():
            _engine.shutdown()
            _engine = None


def is_initialized() -> bool:
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


def _on_default(method: Callable[..., _T]) -> Callable[..., _T]:
    """The module-level twin of a method of Engine."""

    @functools.wraps(method)
    def call(*args: Any, **keywords: Any) -> _T:
        return method(engine(), *args, **keywords)

    signature = inspect.signature(method)
    call.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
    call.__qualname__, call.__module__ = method.__name__, "unisono"
    return call


_TWINS = """
rank size local_rank local_size cross_rank cross_size placement stats timings
switch_order start_timeline stop_timeline arena_empty
allreduce allreduce_async allreduce_ allreduce_async_
grouped_allreduce grouped_allreduce_async grouped_allreduce_ grouped_allreduce_async_
allgather allgather_async grouped_allgather grouped_allgather_async
broadcast broadcast_async broadcast_ broadcast_async_
reducescatter reducescatter_async grouped_reducescatter grouped_reducescatter_async
alltoall alltoall_async barrier join broadcast_object allgather_object
add_process_set remove_process_set
""".split()
globals().update({name: _on_default(getattr(Engine, name)) for name in _TWINS})

__all__ = ["init", "shutdown", "is_initialized", *_TWINS]
atexit.register(shutdown)
