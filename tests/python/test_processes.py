# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks as processes started by ``unisono run``."""

import pathlib

import pytest

import ranks

JOBS = pathlib.Path(__file__).parent / "jobs"
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "numpy"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_horovod_style_script(size):
    output = ranks.as_processes(size, JOBS / "horovod_style.py")
    assert all(f"rank {rank} done" in output for rank in range(size))


def test_survivors_name_the_lost_rank_within_a_second():
    output = ranks.as_processes(3, JOBS / "lose_a_peer.py", expect=1)
    times = [float(line.split("named in ")[1].split(" s:")[0])
             for line in output.splitlines() if "named in " in line]
    assert len(times) == 2 and max(times) < 1.0, output


def test_interrupt_while_waiting():
    output = ranks.as_processes(2, JOBS / "interrupted.py")
    assert "interrupted" in output


@pytest.mark.parametrize("example", ["allreduce.py", "linear_regression.py"])
@pytest.mark.parametrize("size", [1, 2])
def test_examples_run(example, size):
    ranks.as_processes(size, EXAMPLES / example)


def test_an_engine_sleeps_after_its_peer_has_left():
    assert "slept" in ranks.as_processes(2, JOBS / "idle_after_leaving.py")


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("count, rounds", [(100_000, 400), (1_000_000, 60)])
def test_writing_right_after_synchronize_reaches_nobodys_sum(size, count, rounds):
    output = ranks.as_processes(size, JOBS / "mixed_memory.py", str(rounds), str(count))
    for rank in range(2):
        assert f"rank {rank}: 0 of {rounds} rounds wrong" in output, output
