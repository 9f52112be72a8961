# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that load data for a rank: they have no engine, and get its CPUs told beforehand."""

from __future__ import annotations

import os
from typing import Callable, Iterable, Optional


class WorkerInit:
    """Binds the process that calls it to CPUs; without any it leaves the process as it is. Can be
    pickled, so that processes that were not forked can be given it."""

    def __init__(self, cpus: Iterable[int], then: Optional[Callable[[int], object]] = None) -> None:
        self.cpus = list(cpus)
        self.then = then

    def __call__(self, worker_id: int) -> None:
        if self.cpus:
            # Libraries may have started threads while they were imported.
            for thread in os.listdir("/proc/self/task"):
                try:
                    os.sched_setaffinity(int(thread), self.cpus)
                except ProcessLookupError:
                    pass  # it has ended meanwhile
        if self.then is not None:
            self.then(worker_id)
