# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not fit are refused at the join, and both sides say what differs. Nobody waits for a
deadline to say so: that of the join is further away than any test's patience."""

import secrets
import struct

import pytest

import strangers
from harness import Job

NO_DEADLINE = {"UNISONO_JOIN_TIMEOUT_S": "3600"}


def refusals(job: Job, ranks: list[int]) -> list[dict]:
    told = []
    for rank in ranks:
        assert job.ranks[rank].finish() == 4, job.story()
        told.append(job.ranks[rank].events("refused")[0])
    return told


@pytest.mark.parametrize("variable, value, option, expected", [
    ("UNISONO_FUSION_BYTES", "1048576", "fusion_bytes", ["67108864", "1048576"]),
    ("UNISONO_DEAD_S", "9", "dead_s", ["4", "9"]),
    ("UNISONO_DETERMINISTIC", "1", "deterministic", ["rank 0", "rank 2"]),
])
def test_differing_options_name_both_values(variable, value, option, expected) -> None:
    with Job(3, per_rank={2: {variable: value}}, options=NO_DEADLINE) as job:
        for refusal in refusals(job, [0, 1, 2]):
            assert refusal["code"] == "Refused"
            assert option in refusal["message"]
            for text in expected:
                assert text in refusal["message"], refusal
            assert "rank 0" in refusal["message"] and "rank 2" in refusal["message"]


def test_two_of_the_same_rank_are_refused() -> None:
    with Job(3, per_rank={2: {"UNISONO_RANK": "1"}}, options=NO_DEADLINE) as job:
        for refusal in refusals(job, [0, 1, 2]):
            assert "two processes claim rank 1" in refusal["message"]


def test_wrong_key_is_refused_at_once() -> None:
    with Job(2, key_of={1: secrets.token_bytes(32)}, per_rank={1: NO_DEADLINE},
             options={"UNISONO_JOIN_TIMEOUT_S": "5"}) as job:
        wrong, = refusals(job, [1])
        assert wrong["code"] == "Refused"
        missing, = refusals(job, [0])
        assert missing["code"] == "TimedOut" and "rank 1" in missing["message"]


def test_another_protocol_version_is_told_both() -> None:
    with Job(2, "loop", "stop_s=1") as job:
        job.wait_ready()
        answer = strangers.talk(job.port, strangers.hello(version=99), answer_bytes=80)
        assert answer[:8] == strangers.MAGIC
        version, verdict = struct.unpack_from("<HB", answer, 8)
        assert (version, verdict) == (strangers.VERSION, 1)
        for rank in job.ranks:
            assert rank.finish() == 0
