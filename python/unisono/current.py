# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The engine that the calls of this package use when they are given none, one for the process.

It is process-wide because Horovod's calls name no engine. Two make it: unisono.init(), which then
claims it until shutdown(), and a process group for the whole world, which releases it when it ends.
Thread: any, under one lock; readers see one consistent value without it.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from typing import (TYPE_CHECKING, Callable, Concatenate, NamedTuple, Optional, ParamSpec,
                    TypeVar)

from .errors import Forked, NotInitialized
from .exports import of_the_package

if TYPE_CHECKING:
    from .engine import Engine

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Installed(NamedTuple):
    engine: Engine
    pid: int  # the process it belongs to: a forked child has a copy that it must not use
    of_a_group: bool  # whether it was made for a process group
    claimed: bool  # whether init() has been called, so that it lives until shutdown()


lock = threading.Lock()
_installed: Optional[_Installed] = None
_before_shutdown: list[Callable[[], None]] = []


@of_the_package
def is_initialized() -> bool:
    """Whether this process is in a job: init() has been called, and shutdown() not since."""
    return _installed is not None and _installed.pid == os.getpid()


def engine() -> Engine:
    """The engine that init() made."""
    current = _installed
    if current is None:
        raise NotInitialized("unisono has not been initialized; call unisono.init() first.")
    if current.pid != os.getpid():
        raise Forked(f"the engine belongs to process {current.pid}, which forked this one; call "
                     "unisono.init() here, or start processes with spawn.")
    return current.engine


def install(engine: Engine, of_a_group: bool, claimed: bool) -> None:
    global _installed
    _installed = _Installed(engine, os.getpid(), of_a_group, claimed)


def of_a_group() -> bool:
    """Whether the engine was made for a process group."""
    return _installed is not None and _installed.of_a_group


def claimed() -> bool:
    """Whether init() has been called for this engine."""
    return _installed is not None and _installed.claimed


def claim() -> None:
    """From now on the engine lives until shutdown(), whoever made it."""
    global _installed
    if _installed is not None:
        _installed = _installed._replace(claimed=True)


def adopt(engine: Engine) -> bool:
    """Makes a joined engine the default one, unless there is one; shutdown() then ends it."""
    with lock:
        if is_initialized():
            return False
        install(engine, of_a_group=True, claimed=False)
        return True


def release(engine: Engine) -> bool:
    """Undoes adopt(). False when the program has called init() since: then it still uses the
    engine, and the engine's owner leaves it to shutdown()."""
    global _installed
    with lock:
        current = _installed
        if current is None or current.engine is not engine:
            return True
        if current.claimed:
            return False
        _installed = None
        return True


def before_shutdown(call: Callable[[], None]) -> Callable[[], None]:
    """The function is called before this process leaves the job of its own accord."""
    _before_shutdown.append(call)
    return call


def shutdown_at_exit() -> None:
    """After an exception that nobody caught, what peers may never do is not waited for."""
    if hasattr(sys, "last_value"):
        _before_shutdown.clear()
    shutdown()


@of_the_package
def shutdown() -> None:
    """Leaves the job; what is pending fails with unisono.ShutDown. Runs at exit by itself."""
    global _installed
    if is_initialized():
        for call in _before_shutdown:
            call()
    with lock:
        if _installed is not None and _installed.pid == os.getpid():
            _installed.engine.shutdown()
            _installed = None


def on_current(method: Callable[Concatenate[Engine, _P], _T]) -> Callable[_P, _T]:
    """The module-level twin of a method of Engine."""

    @functools.wraps(method)
    def call(*args: _P.args, **keywords: _P.kwargs) -> _T:
        return method(engine(), *args, **keywords)

    signature = inspect.signature(method)
    shown = signature.replace(parameters=list(signature.parameters.values())[1:])
    call.__signature__ = shown  # type: ignore[attr-defined]  # inspect's own way to say it
    call.__qualname__ = method.__name__
    return of_the_package(call)
