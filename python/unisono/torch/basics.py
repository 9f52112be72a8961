# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Joining and leaving the job, and who is who in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence, Union

from .. import _core, default
from ..current import engine
from ..errors import InvalidArgument
from ..exports import defined_names
from ..membership import *  # noqa: F401,F403: rank(), size() and the like, and shutdown()
from ..membership import cross_size, is_initialized, local_size, shutdown, size
from ..process_set import ProcessSet

_AnySets = Union[str, Iterable[Union[ProcessSet, Sequence[int]]], None]


def init(comm: Optional[Sequence[int]] = None, process_sets: _AnySets = None, *,
         options: Union[_core.Options, dict[str, Any], None] = None, **overrides: Any) -> None:
    """Joins the job; the environment (UNISONO_*, HOROVOD_*) is read now, not at import.

        hvd.init()
        hvd.init(process_sets=[hvd.ProcessSet(0, 1)])

    process_sets lists the subsets of ranks to register; "dynamic" announces that they come later,
    which is always allowed here. comm, Horovod's list of ranks, may name the whole job only: use a
    process set for a part of it. Keywords set single options of the engine by name."""
    sets = _checked_sets(process_sets)
    joined_already = is_initialized()
    default.init(options, process_sets=sets, **overrides)
    if comm is not None and not _names_whole_job(comm):
        ranks = size()
        if not joined_already:
            shutdown()
        raise InvalidArgument(
            f"init(comm={comm!r}) does not name all {ranks} ranks of the job; call init() and pass "
            "process_set=add_process_set(ranks) to the calls of a part of it. MPI communicators "
            "are not needed: ranks started by mpirun are recognised")


def _checked_sets(process_sets: _AnySets) -> list[ProcessSet]:
    if process_sets is None:
        return []
    if isinstance(process_sets, str):
        if process_sets.lower() == "dynamic":
            return []
        raise InvalidArgument(f'process_sets is {process_sets!r}; give a list of process sets, or '
                              '"dynamic"')
    return [each if isinstance(each, ProcessSet) else ProcessSet(each) for each in process_sets]


def _names_whole_job(comm: Any) -> bool:
    try:
        return sorted(comm) == list(range(size()))
    except TypeError:
        return False


def is_homogeneous() -> bool:
    """Whether every host runs as many ranks, as far as this rank can tell."""
    return local_size() * cross_size() == size()


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """Begins to write a timeline that chrome://tracing and Perfetto show, replacing the file.

        hvd.start_timeline("/tmp/timeline.json", mark_cycles=True)"""
    engine().start_timeline(file_path, mark_cycles)


def stop_timeline() -> None:
    """Ends the timeline and closes its file."""
    engine().stop_timeline()


if not TYPE_CHECKING:
    __all__ = defined_names(globals())
