# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A rank ends in the middle of a collective: everyone else learns it from the end itself, not from
silence; all name the same rank, and no tensor is half reduced."""

import os
import random
import signal
import time

import pytest

from harness import SILENT_S, TRANSPORTS, Job, check_blame, kill_once

SHAPES = [("elements=16",), ("elements=300000", "dtype=float64"),
          ("elements=5000", "tensors=12", "dtype=int64")]


def check_kills(transport: str, count: int, size: int, seed: int,
                keep_inputs: bool = True) -> list[float]:
    rng = random.Random(seed)
    worst = []
    options = SILENT_S | {"UNISONO_KEEP_INPUTS": str(int(keep_inputs))}
    for kill in range(count):
        arguments = SHAPES[kill % len(SHAPES)] + (("end=abrupt",) if rng.random() < 0.5 else ())
        if not keep_inputs:
            arguments += ("watch_ms=30",)
        print(f"seed {seed}, kill {kill}, {arguments}")
        latencies, _ = kill_once(size, transport, rng, *arguments, options=options)
        worst.append(max(latencies))
    return worst


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_killed_rank_is_named_by_all(transport: str) -> None:
    check_kills(transport, count=6, size=4, seed=20260101)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_failed_is_the_callers_memory_again(transport: str) -> None:
    check_kills(transport, count=6, size=3, seed=20260102, keep_inputs=False)


def test_a_call_may_ask_to_keep_its_inputs() -> None:
    options = SILENT_S | {"UNISONO_KEEP_INPUTS": "0"}
    for culprit in (0, 1, 2):
        with Job(3, "loop", "elements=3000000", "keep=1", "fault=exit", f"fault_rank={culprit}",
                 "fault_ms=30", transport="tcp", options=options) as job:
            errors = job.errors(culprit)
            check_blame(job, culprit, errors, "PeerLost")
            assert all(error["untouched"] for error in errors), errors


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("culprit", [0, 2])
def test_rank_that_exits_is_named_by_all(transport: str, culprit: int) -> None:
    with Job(3, "loop", "fault=exit", f"fault_rank={culprit}", "fault_ms=30",
             transport=transport, options=SILENT_S) as job:
        check_blame(job, culprit, job.errors(culprit), "PeerLost")


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("end", ["leave", "abrupt"])
@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_all_name_the_first_who_ended_and_not_who_ended_because_of_it(
        transport: str, end: str, culprit: int) -> None:
    # Whoever has its error ends at once, before those behind have theirs.
    for _ in range(5):
        with Job(3, "loop", "fault=exit", f"fault_rank={culprit}", "fault_ms=20", f"end={end}",
                 "slow_rank=2", "slow_s=0.1", transport=transport, options=SILENT_S) as job:
            check_blame(job, culprit, job.errors(culprit), "PeerLost")


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("end", ["leave", "abrupt"])
@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_rank_that_shuts_down_early_is_named_by_all(transport: str, end: str,
                                                    culprit: int) -> None:
    for late in (0, 1, 2):
        with Job(3, "loop", "fault=quit", f"fault_rank={culprit}", "fault_ms=0", f"end={end}",
                 f"slow_rank={late}", "slow_round=1", "slow_s=0.1", transport=transport,
                 options=SILENT_S) as job:
            check_blame(job, culprit, job.errors(culprit), "PeerLeft")


@pytest.mark.parametrize("transport, holder", [
    ("shm", "fork"), ("shm", "clone"), ("shm", "spawn"), ("tcp", "fork"), ("tcp", "spawn")])
def test_killed_rank_is_named_whatever_its_children_hold(transport: str, holder: str) -> None:
    culprit = 1
    with Job(3, "loop", f"holder={holder}", f"holder_rank={culprit}", transport=transport,
             options=SILENT_S) as job:
        job.wait_ready()
        child = job.ranks[culprit].events("holder")[0]["pid"]
        try:
            job.send(culprit, signal.SIGKILL)
            check_blame(job, culprit, job.errors(culprit), "PeerLost")
        finally:
            os.kill(child, signal.SIGKILL)  # fails if it did not outlive the rank


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_rank_killed_around_the_join_lets_nobody_wait_for_ever(transport: str) -> None:
    rng = random.Random(7)
    for _ in range(3):
        culprit = rng.randrange(4)
        with Job(4, "loop", transport=transport, options={"UNISONO_JOIN_TIMEOUT_S": "2"}) as job:
            # Anywhere from before its first instruction to the first collectives.
            time.sleep(rng.uniform(0, 0.06))
            job.send(culprit, signal.SIGKILL)
            for rank in job.others(culprit):
                rank.finish()
                told = rank.events("refused") + rank.events("error")
                assert len(told) == 1, job.story()


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_thousand_kills(transport: str) -> None:
    worst = sorted(check_kills(transport, count=1000, size=8, seed=1))
    print(f"{transport}: p50 {worst[500]:.1f} ms, p99 {worst[990]:.1f} ms, max {worst[-1]:.1f} ms")
