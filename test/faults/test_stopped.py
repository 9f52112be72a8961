# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A stopped rank is as good as dead after its silence; a slow one whose engine lives is not."""

import signal
import time

import pytest

from harness import TRANSPORTS, Job, check_blame

LIMIT_S = 5


def stop_once(transport: str, size: int, culprit: int, *arguments: str,
              options: dict[str, str] | None = None) -> float:
    with Job(size, "loop", *arguments, transport=transport, options=options) as job:
        job.wait_ready()
        time.sleep(0.05)
        at = job.send(culprit, signal.SIGSTOP)
        errors = job.errors(culprit)
        check_blame(job, culprit, errors, "PeerLost")
        # Once it may run again, it too gets an error instead of waiting for ever.
        job.ranks[culprit].process.send_signal(signal.SIGCONT)
        assert job.ranks[culprit].finish(10) == 0
        assert job.ranks[culprit].events("error")[0]["untouched"]
        return max(e["at_ns"] - at for e in errors) * 1e-9


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_stopped_rank_is_named_within_five_seconds(transport: str) -> None:
    assert stop_once(transport, 3, 1, "elements=200000") <= LIMIT_S


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_tuned_heartbeat_is_faster(transport: str) -> None:
    tuned = {"UNISONO_HEARTBEAT_S": "0.2", "UNISONO_SUSPECT_S": "0.5", "UNISONO_DEAD_S": "1"}
    assert stop_once(transport, 3, 0, options=tuned) <= LIMIT_S


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_slow_is_not_dead(transport: str) -> None:
    with Job(3, "loop", "slow_rank=1", "slow_s=6", "stop_s=6.2", transport=transport) as job:
        for rank in job.ranks:
            assert rank.finish(30) == 0
            assert rank.events("done"), job.story()


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_stopped_at_many_moments(transport: str) -> None:
    times = [stop_once(transport, 2 + i % 3, i % 2, f"elements={10 ** (1 + i % 5)}")
             for i in range(40)]
    assert max(times) <= LIMIT_S, sorted(times)
