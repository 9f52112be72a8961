# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A rank is killed inside each algorithm that moves data by shared memory: everyone else learns who
it was from its end, no tensor of theirs is half written, and nothing of the job is left."""

import pathlib
import random
import signal
import time
from typing import Any

import pytest

from harness import HOST, SILENT_S, Job, wait_until
from leftovers import Traces

SIZE = 4
KINDS = ["tiny", "user", "arena", "fused", "persistent", "broadcast", "allgather", "reducescatter",
         "alltoall", "barrier"]
ENGINES: dict[str, dict[str, str]] = {
    "one team": {},
    "two teams": {"UNISONO_TEAMS": "2"},
    "two threads": {"UNISONO_TEAM_THREADS": "2"},
    "both": {"UNISONO_TEAMS": "2", "UNISONO_TEAM_THREADS": "2"},
}


def check_error(job: Job, culprit: int, error: dict[str, Any]) -> None:
    assert error["code"] == "PeerLost", error
    assert error["culprit_rank"] == culprit, error
    assert error["culprit_pid"] == job.ranks[culprit].pid, error
    assert error["culprit_host"] == HOST, error
    assert f"rank {culprit}" in error["message"], error
    assert error["untouched"] and error["same"] and error["wrong"] == 0, error


def kill_inside(kind: str, options: dict[str, str], folder: pathlib.Path, seed: str) -> None:
    print("seed", seed)
    rng = random.Random(seed)
    culprit, traces = rng.randrange(SIZE), Traces(folder)
    with Job(SIZE, "kind", f"what={kind}", options=SILENT_S | options | traces.environment) as job:
        job.wait_ready()
        time.sleep(rng.uniform(0, 0.05))
        during = traces.names()
        job.send(culprit, signal.SIGKILL)
        for error in job.errors(culprit):
            check_error(job, culprit, error)
        job.ranks[culprit].finish()
    assert wait_until(lambda: not traces.processes()), traces.processes()
    assert wait_until(lambda: not during & traces.names()), traces.names()
    assert not traces.files()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_rank_killed_inside_is_named_by_all(kind: str, engine: str,
                                            tmp_path: pathlib.Path) -> None:
    kill_inside(kind, ENGINES[engine], tmp_path, f"20260101 {kind} {engine}")


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_ranks_killed_inside(kind: str, engine: str, tmp_path: pathlib.Path) -> None:
    for kill in range(100):
        folder = tmp_path / str(kill)
        folder.mkdir()
        kill_inside(kind, ENGINES[engine], folder, f"{kill} {kind} {engine}")
