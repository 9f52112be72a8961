# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes of the caller: clear, at once, and the job goes on."""

import pytest

from harness import TRANSPORTS, Job


def test_misuse_is_found_where_it_happens() -> None:
    with Job(2, "use") as job:
        for rank in job.ranks:
            assert rank.finish() == 0, job.story()
        zero = {line["mistake"]: line for line in job.ranks[0].events("use")}
        for rank in job.ranks:
            assert rank.events("sum")[0]["right"]
        child, = job.ranks[0].events("child")
        assert child["status"] == 0
    codes = {mistake: line["code"] for mistake, line in zero.items()}
    assert codes == {
        "submit before init": "NotInitialized",
        "barrier before init": "NotInitialized",
        "init twice": "Ok",
        "barrier after init twice": "Ok",
        "first of its name": "Ok",
        "duplicate name": "DuplicateName",
        "submit in a forked child": "Forked",
        "wait in a forked child": "Forked",
        "init in a forked child": "Forked",
        "barrier in a forked child": "Forked",
        "barrier after duplicate": "Ok",
        "twin": "Ok",
        "submit after shutdown": "NotInitialized",
        "shutdown twice": "Ok",
    }
    assert "twin" in zero["duplicate name"]["message"]
    assert str(job.ranks[0].pid) in zero["submit in a forked child"]["message"]


VALUES = {"shape": ["[8]", "[7]"], "dtype": ["float32", "int32"], "op": ["sum", "max"],
          "root": ["0", "1"], "kind": ["allreduce", "broadcast"]}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("what", VALUES)
def test_mismatch_is_told_to_all_with_every_value(what: str, transport: str) -> None:
    with Job(3, "mismatch", f"what={what}", transport=transport) as job:
        for number, rank in enumerate(job.ranks):
            assert rank.finish() == 0, job.story()
            error, = rank.events("error")
            assert error["code"] == "Mismatch" and error["untouched"], error
            assert error["tensor"] == "x", error
            for value in VALUES[what]:
                assert value in error["message"].lower(), error
            after, = rank.events("after")
            assert after["right"] and after["code"].lower() == "ok", (number, after)
