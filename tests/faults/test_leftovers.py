# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs killed at random moments leave no process, memory, socket or file behind."""

import collections
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

import pytest

import harness
from harness import Job, wait_until
from leftovers import Traces, listens

JOIN = {"UNISONO_JOIN_TIMEOUT_S": "3"}


def check_nothing_left(traces: Traces, suspects: set[str], story: str) -> None:
    gone = wait_until(lambda: not traces.processes())
    left = traces.processes()
    traces.end_all()
    assert gone, f"{story}: {left}"
    assert not traces.memory_files(), story
    # Other jobs of this machine may come and go; what was there during ours must vanish.
    assert wait_until(lambda: not suspects & traces.names()), (story, suspects)
    assert not traces.files(), story


def choose_moment(rng: random.Random) -> tuple[float, dict[str, str]]:
    """When to kill; half of the time the ranks come so slowly that this is during the join."""
    return rng.uniform(0, 0.3), {"FAULT_RANK_STAGGER_MS": rng.choice(["0", "250"])}


def phase_of(ready: int, size: int) -> str:
    return "running" if ready == size else "joining"


def kill_ranks(traces: Traces, rng: random.Random) -> str:
    transport, size = rng.choice(harness.TRANSPORTS), rng.choice([2, 4])
    all_at_once = rng.random() < 0.3
    after, pace = choose_moment(rng)
    with Job(size, "loop", transport=transport, options=JOIN | traces.environment | pace) as job:
        time.sleep(after)
        suspects = traces.names()
        assert traces.processes(), "nobody is there to be killed"
        phase = phase_of(sum(bool(rank.events("ready")) for rank in job.ranks), size)
        for victim in range(size) if all_at_once else [rng.randrange(size)]:
            job.send(victim, signal.SIGKILL)
        for rank in job.ranks:
            rank.finish()
        story = f"{phase} ranks {transport} size {size} all {all_at_once} after {after:.3f} s"
        check_nothing_left(traces, suspects, story)
        assert not listens(job.port), story
    return story


def kill_launched(traces: Traces, rng: random.Random) -> str:
    transport, size = rng.choice(harness.TRANSPORTS), rng.choice([2, 4])
    victim = rng.choice(["launcher", "rank", "everyone"])
    after, pace = choose_moment(rng)
    line = [str(harness.unisono_command()), "run", "-np", str(size), "--transport", transport,
            "--set", "join_timeout_s=3", str(harness.fault_rank()), "loop"]
    with tempfile.TemporaryFile() as output, subprocess.Popen(
            line, env=harness.clean_environment() | traces.environment | pace,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL) as launcher:
        time.sleep(after)
        suspects = traces.names()
        assert launcher.poll() is None, "nobody is there to be killed"
        phase = phase_of(os.pread(output.fileno(), 1 << 16, 0).count(b'"ready"'), size)
        pids = list(traces.processes())
        ranks = [pid for pid in pids if pid != launcher.pid]
        chosen = {"launcher": [launcher.pid], "everyone": pids,
                  "rank": ranks and [rng.choice(ranks)] or [launcher.pid]}[victim]
        for pid in chosen:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        story = f"{phase} launched {transport} size {size} kill {victim} after {after:.3f} s"
        check_nothing_left(traces, suspects, story)
    return story


def kill_many(count: int, seed: int, folder: pathlib.Path) -> collections.Counter:
    rng = random.Random(seed)
    phases: collections.Counter = collections.Counter()
    for run in range(count):
        own = folder / str(run)
        own.mkdir()
        story = rng.choice([kill_ranks, kill_launched])(Traces(own), rng)
        print(f"seed {seed} run {run}:", story)
        phases[" ".join(story.split()[:2])] += 1
    print(phases)
    return phases


def test_killed_jobs_leave_nothing(tmp_path: pathlib.Path) -> None:
    kill_many(8, 11, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_hundred_killed_jobs_leave_nothing(tmp_path: pathlib.Path) -> None:
    phases = kill_many(100, 12, tmp_path)
    # Else the moments were not what this test is about.
    assert all(phases[f"{phase} {what}"] >= 10 for phase in ("joining", "running")
               for what in ("ranks", "launched")), phases


def test_finished_job_leaves_nothing(tmp_path: pathlib.Path) -> None:
    traces = Traces(tmp_path)
    with Job(3, "loop", "stop_s=0.2", options=traces.environment) as job:
        job.wait_ready()
        suspects = traces.names()
        for rank in job.ranks:
            assert rank.finish() == 0 and rank.events("done")
        check_nothing_left(traces, suspects, "a job that ended well")
        assert not listens(job.port)
