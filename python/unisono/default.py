# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""init(), and the calls of Horovod's shape on the default engine.

Each name below is a method of Engine without its first argument. The list is the only one:
``unisono`` exports whatever is here.
"""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING, Any, Iterable, Union

from . import _core, current
from .config import chosen_options
from .current import engine as engine
from .current import on_current
from .engine import Engine, make_options
from .errors import Error
from .exports import defined_names
from .membership import *  # noqa: F401,F403: rank(), size() and the like, and shutdown()
from .process_set import ProcessSet

# What a process group takes from its own timeout, so that it differs from the environment's.
_OF_A_GROUP = ("join_timeout_s", "stall_limit_s")
# And what it takes from torch's rule that all ranks make the same calls in the same order.
_PROGRAM = "program"


def init(options: Union[_core.Options, dict[str, Any], None] = None, *,
         process_sets: Iterable[ProcessSet] = (), **overrides: Any) -> None:
    """Joins the job. The environment is read here, not at import. Calling it again with the same
    options does nothing; after shutdown() it joins anew. After init_process_group("unisono") it
    takes the world group's engine, which then lives until shutdown(), and whose ranks from then on
    agree on the order of operations by name: all ranks call it at the same place."""
    if not isinstance(options, _core.Options):
        overrides = {**chosen_options(), **(options or {}), **overrides}
        options = None
    with current.lock:
        if current.is_initialized():
            joined = current.engine()
            asked = make_options(options, overrides)
            ignored = [key for key in _OF_A_GROUP
                       if current.of_a_group() and key not in overrides]
            by_program = current.of_a_group() and joined.options().get("order") == _PROGRAM
            _check_same(asked, joined.options(), ignored + ["order"] * by_program)
            if current.claimed():
                return
            current.claim()
        else:
            joined = Engine(options, **overrides)
            by_program = False
            current.install(joined, of_a_group=False, claimed=True)
    if by_program and asked.get("order") != _PROGRAM:
        joined.switch_order(asked.get("order"))
    for process_set in process_sets:
        joined.add_process_set(process_set)


def _check_same(asked: _core.Options, running: _core.Options, ignored: Iterable[str]) -> None:
    differ = [f"{key} is {running.get(key)!r}, now {asked.get(key)!r} was asked for"
              for key in _core.Options.keys()
              if asked.get(key) != running.get(key) and key not in ignored]
    if differ:
        raise Error("unisono is initialized already with other options: " + "; ".join(differ)
                    + ". Call unisono.shutdown() first.")


placement = on_current(Engine.placement)
bind_compute = on_current(Engine.bind_compute)
bind_input = on_current(Engine.bind_input)
worker_init = on_current(Engine.worker_init)
stats = on_current(Engine.stats)
timings = on_current(Engine.timings)
explain = on_current(Engine.explain)
switch_order = on_current(Engine.switch_order)
follow_graph = on_current(Engine.follow_graph)
codec_state = on_current(Engine.codec_state)
load_codec_state = on_current(Engine.load_codec_state)
start_timeline = on_current(Engine.start_timeline)
stop_timeline = on_current(Engine.stop_timeline)
arena_empty = on_current(Engine.arena_empty)
allreduce = on_current(Engine.allreduce)
allreduce_async = on_current(Engine.allreduce_async)
allreduce_ = on_current(Engine.allreduce_)
allreduce_async_ = on_current(Engine.allreduce_async_)
grouped_allreduce = on_current(Engine.grouped_allreduce)
grouped_allreduce_async = on_current(Engine.grouped_allreduce_async)
grouped_allreduce_ = on_current(Engine.grouped_allreduce_)
grouped_allreduce_async_ = on_current(Engine.grouped_allreduce_async_)
allgather = on_current(Engine.allgather)
allgather_async = on_current(Engine.allgather_async)
grouped_allgather = on_current(Engine.grouped_allgather)
grouped_allgather_async = on_current(Engine.grouped_allgather_async)
broadcast = on_current(Engine.broadcast)
broadcast_async = on_current(Engine.broadcast_async)
broadcast_ = on_current(Engine.broadcast_)
broadcast_async_ = on_current(Engine.broadcast_async_)
reducescatter = on_current(Engine.reducescatter)
reducescatter_async = on_current(Engine.reducescatter_async)
grouped_reducescatter = on_current(Engine.grouped_reducescatter)
grouped_reducescatter_async = on_current(Engine.grouped_reducescatter_async)
alltoall = on_current(Engine.alltoall)
alltoall_async = on_current(Engine.alltoall_async)
sparse_allreduce = on_current(Engine.sparse_allreduce)
sparse_allreduce_async = on_current(Engine.sparse_allreduce_async)
sparse_allgather = on_current(Engine.sparse_allgather)
sparse_allgather_async = on_current(Engine.sparse_allgather_async)
barrier = on_current(Engine.barrier)
join = on_current(Engine.join)
broadcast_object = on_current(Engine.broadcast_object)
allgather_object = on_current(Engine.allgather_object)

atexit.register(current.shutdown_at_exit)

if not TYPE_CHECKING:
    __all__ = defined_names(globals())
