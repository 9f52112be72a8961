# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A stopped rank is as good as dead after its silence; a slow one whose engine lives is not.
After how much silence is tested under virtual time (src/transport/mesh/silence_test.cpp)."""

import signal
import time

import pytest

from harness import TRANSPORTS, Job, check_blame

TUNED = {"UNISONO_HEARTBEAT_S": "0.2", "UNISONO_SUSPECT_S": "0.5", "UNISONO_DEAD_S": "1"}


def stop_once(transport: str, size: int, culprit: int, *arguments: str,
              options: dict[str, str] | None = None) -> None:
    with Job(size, "loop", *arguments, transport=transport, options=options) as job:
        job.wait_ready()
        time.sleep(0.05)
        job.send(culprit, signal.SIGSTOP)
        check_blame(job, culprit, job.errors(culprit), "PeerLost")
        # Once it may run again, it too gets an error instead of waiting for ever.
        job.ranks[culprit].process.send_signal(signal.SIGCONT)
        assert job.ranks[culprit].finish() == 0
        assert job.ranks[culprit].events("error")[0]["untouched"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_stopped_rank_is_named_by_all(transport: str) -> None:
    stop_once(transport, 3, 1, "elements=200000")


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_stopped_rank_is_named_with_a_tuned_heartbeat(transport: str) -> None:
    stop_once(transport, 3, 0, options=TUNED)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_slow_is_not_dead(transport: str) -> None:
    with Job(3, "loop", "slow_rank=1", "slow_s=6", "stop_s=6.2", transport=transport) as job:
        for rank in job.ranks:
            assert rank.finish() == 0
            assert rank.events("done"), job.story()


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_stopped_at_many_moments(transport: str) -> None:
    for i in range(40):
        stop_once(transport, 2 + i % 3, i % 2, f"elements={10 ** (1 + i % 5)}")
