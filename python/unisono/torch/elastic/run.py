# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The loop around a training function that tries again where that can help."""

from __future__ import annotations

import functools
import logging
from typing import Any, Callable, TypeVar

from ... import default
from ...errors import Error
from .state import HostsUpdatedInterrupt, State

_T = TypeVar("_T")
_log = logging.getLogger("unisono")


def run(func: Callable[..., _T]) -> Callable[..., _T]:
    """Decorates func(state, ...): the state is shared from rank 0, then func runs.

    After a fault that says trying again can help (``error.retryable``), the state goes back to its
    last commit; after HostsUpdatedInterrupt it stays as it is. Either way this rank leaves the job,
    joins anew, and func starts again. Any other error, a mismatch of shapes for instance, would
    come again and is raised.

        @hvd.elastic.run
        def train(state):
            for state.batch in range(state.batch, 100):
                ...
                state.commit()
    """
    @functools.wraps(func)
    def attempts(state: State, *args: Any, **keywords: Any) -> _T:
        skip_sync = False
        while True:
            try:
                if not skip_sync:
                    state.sync()
                return func(state, *args, **keywords)
            except HostsUpdatedInterrupt as interrupt:
                skip_sync = interrupt.skip_sync
                _join_anew(interrupt)
            except Error as error:
                if not error.retryable:
                    raise
                _log.warning("going back to the last commit: %s", error)
                skip_sync = False
                state.restore()
                _join_anew(error)
            state.on_reset()

    return attempts


def _join_anew(cause: Exception) -> None:
    default.shutdown()
    try:
        default.init()
    except Error as error:
        raise error from cause
