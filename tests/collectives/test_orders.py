# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Every ordering strategy at every pace, as processes: sums are right whatever order the ranks
submit in, a rank that strays is named, and the job goes on.

The jobs mostly wait, so a few of them run side by side; each test takes the outcome of its own."""

from __future__ import annotations

import concurrent.futures
import pathlib
from typing import Callable, Iterator

import pytest

import ranks
import steps

SCRIPT = pathlib.Path(steps.__file__)
SIZE = 3
SIDE_BY_SIDE = 4
ORDERS = ["coordinator", "tree", "cache", "topo", "auto"]
PACINGS = ["event", "cycle", "gs", "nbcs"]
STRAYS = ["dropped", "extra", "reshaped"]


class Job:
    def __init__(self, mode: str, **options: str) -> None:
        self.mode, self.options = mode, options

    def __str__(self) -> str:
        return "-".join([self.mode, *self.options.values()])

    def run(self, folder: pathlib.Path) -> None:
        environment = {f"UNISONO_{key}": value for key, value in self.options.items()}
        output = ranks.as_processes(SIZE, SCRIPT, self.mode, str(folder), environment=environment)
        for rank in range(SIZE):
            assert f"rank {rank} of {SIZE} {self.mode} right" in output, output


@pytest.fixture(scope="module")
def confirm(request: pytest.FixtureRequest,
            tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Job], None]]:
    jobs = [item.callspec.params["job"] for item in request.session.items
            if item.path == request.path]
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        outcomes = {job: pool.submit(job.run, tmp_path_factory.mktemp("meet")) for job in jobs}
        yield lambda job: outcomes[job].result()
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("job", [Job("even", ORDER=order, PACING=pacing)
                                 for order in ORDERS for pacing in PACINGS], ids=str)
def test_sums_are_right(job: Job, confirm: Callable[[Job], None]) -> None:
    confirm(job)


@pytest.mark.parametrize("job", [Job("switched", ORDER=order) for order in ORDERS], ids=str)
def test_switching_in_the_middle_of_steps_loses_nothing(
        job: Job, confirm: Callable[[Job], None]) -> None:
    confirm(job)


@pytest.mark.parametrize("job", [Job("late", ORDER=order, HEARTBEAT_S="0.5") for order in ORDERS],
                         ids=str)
def test_the_late_rank_is_named_by_all(job: Job, confirm: Callable[[Job], None]) -> None:
    confirm(job)


@pytest.mark.parametrize("job", [Job(what, ORDER=order, STALL_LIMIT_S="3") for what in STRAYS
                                 for order in ("coordinator", "tree", "cache")], ids=str)
def test_rank_that_strays_without_a_plan(job: Job, confirm: Callable[[Job], None]) -> None:
    confirm(job)


@pytest.mark.parametrize("job", [Job(what, ORDER=order, TRANSPORT=transport, STALL_LIMIT_S="3",
                                     TOPO_PATIENCE_S="0.2")
                                 for what in STRAYS for order in ("topo", "auto")
                                 for transport in ("shm", "tcp")], ids=str)
def test_rank_that_strays_from_the_plan(job: Job, confirm: Callable[[Job], None]) -> None:
    confirm(job)
