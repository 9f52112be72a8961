# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A rank ends in the middle of a collective: everyone else learns it within a second, all name the
same rank, and no tensor is half reduced."""

import random
import signal
import time

import pytest

from harness import TRANSPORTS, Job, check_blame, kill_once

LIMIT_MS = 1000
SHAPES = [("elements=16",), ("elements=300000", "dtype=float64"),
          ("elements=5000", "tensors=12", "dtype=int64")]


def check_kills(transport: str, count: int, size: int, seed: int) -> list[float]:
    rng = random.Random(seed)
    worst = []
    for kill in range(count):
        arguments = SHAPES[kill % len(SHAPES)] + (("end=abrupt",) if rng.random() < 0.5 else ())
        latencies, _ = kill_once(size, transport, rng, *arguments)
        worst.append(max(latencies))
        assert worst[-1] <= LIMIT_MS, f"seed {seed}, kill {kill}, {arguments}: {latencies}"
    return worst


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_killed_rank_is_named_by_all(transport: str) -> None:
    check_kills(transport, count=6, size=4, seed=20260101)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("culprit", [0, 2])
def test_rank_that_exits_is_named_by_all(transport: str, culprit: int) -> None:
    with Job(3, "loop", "fault=exit", f"fault_rank={culprit}", "fault_ms=30",
             transport=transport) as job:
        errors = job.errors(culprit)
        at = job.ranks[culprit].events("fault")[0]["at_ns"]
        check_blame(job, culprit, errors, "PeerLost")
        assert max(e["at_ns"] for e in errors) - at <= LIMIT_MS * 1e6


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("culprit", [0, 2])
def test_rank_that_shuts_down_early_is_named_by_all(transport: str, culprit: int) -> None:
    # The others stay for a moment: whoever leaves next is as good a reason for those behind.
    with Job(3, "loop", "fault=quit", f"fault_rank={culprit}", "fault_ms=30", "linger_s=0.5",
             transport=transport) as job:
        errors = job.errors(culprit)
        check_blame(job, culprit, errors, "PeerLeft")


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
                rank.finish(10)
                told = rank.events("refused") + rank.events("error")
                assert len(told) == 1, job.story()


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_thousand_kills(transport: str) -> None:
    worst = sorted(check_kills(transport, count=1000, size=8, seed=1))
    print(f"{transport}: p50 {worst[500]:.1f} ms, p99 {worst[990]:.1f} ms, max {worst[-1]:.1f} ms")
