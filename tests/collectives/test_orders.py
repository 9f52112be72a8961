# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Every ordering strategy at every pace, as processes: sums are right whatever order the ranks
submit in, a rank that strays is named, and the job goes on."""

import pathlib

import pytest

import ranks
import steps

SCRIPT = pathlib.Path(steps.__file__)
SIZE = 3
ORDERS = ["coordinator", "tree", "cache", "topo", "auto"]
PACINGS = ["event", "cycle", "gs", "nbcs"]


def run(mode: str, *arguments: str, **options: str) -> str:
    environment = {f"UNISONO_{key}": value for key, value in options.items()}
    output = ranks.as_processes(SIZE, SCRIPT, mode, *arguments, environment=environment)
    for rank in range(SIZE):
        assert f"rank {rank} of {SIZE} {mode} right" in output, output
    return output


@pytest.mark.parametrize("pacing", PACINGS)
@pytest.mark.parametrize("order", ORDERS)
def test_sums_are_right(order: str, pacing: str) -> None:
    run("even", ORDER=order, PACING=pacing)


@pytest.mark.parametrize("order", ORDERS)
def test_switching_in_the_middle_of_steps_loses_nothing(order: str) -> None:
    run("switched", ORDER=order)


@pytest.mark.parametrize("order", ORDERS)
def test_the_late_rank_is_named_by_all(order: str) -> None:
    run("late", ORDER=order, HEARTBEAT_S="0.5")


@pytest.mark.parametrize("order", ["coordinator", "tree", "cache"])
@pytest.mark.parametrize("what", ["dropped", "extra", "reshaped"])
def test_rank_that_strays_without_a_plan(what: str, order: str, tmp_path: pathlib.Path) -> None:
    run(what, str(tmp_path), ORDER=order, STALL_LIMIT_S="3")


@pytest.mark.parametrize("transport", ["shm", "tcp"])
@pytest.mark.parametrize("order", ["topo", "auto"])
@pytest.mark.parametrize("what", ["dropped", "extra", "reshaped"])
def test_rank_that_strays_from_the_plan(what: str, order: str, transport: str,
                                        tmp_path: pathlib.Path) -> None:
    run(what, str(tmp_path), ORDER=order, TRANSPORT=transport, TOPO_PATIENCE_S="0.2",
        STALL_LIMIT_S="3")
