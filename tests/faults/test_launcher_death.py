# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""However the launcher ends, its ranks and whatever they started end with it."""

import pathlib
import signal
import subprocess
import time

import pytest

import harness
from harness import wait_until
from leftovers import Traces

PROGRAMS = {
    "ranks": lambda: [str(harness.fault_rank()), "loop"],
    # A rank that keeps a process of its own, out of its process group.
    "children": lambda: ["sh", "-c", f"setsid sleep 1000 & {harness.fault_rank()} loop; wait"],
    "deaf": lambda: ["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 0.1; done"],
}


def count_ready(traces: Traces, launcher: subprocess.Popen, ranks: int) -> bool:
    return launcher.poll() is None and len(traces.processes()) >= 1 + ranks


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_orphans(program: str, number: signal.Signals, tmp_path: pathlib.Path) -> None:
    traces = Traces(tmp_path)
    line = [str(harness.unisono_command()), "run", "-np", "3", "--grace", "1", *PROGRAMS[program]()]
    with subprocess.Popen(line, env=harness.clean_environment() | traces.environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as launcher:
        try:
            assert wait_until(lambda: count_ready(traces, launcher, 3))
            time.sleep(0.3)
            launcher.send_signal(number)
            gone = wait_until(lambda: not traces.processes())
            left = traces.processes()
        finally:
            traces.end_all()
    assert gone, left
    assert not traces.files()


def test_stopped_ranks_end_too(tmp_path: pathlib.Path) -> None:
    traces = Traces(tmp_path)
    line = [str(harness.unisono_command()), "run", "-np", "2", *PROGRAMS["ranks"]()]
    with subprocess.Popen(line, env=harness.clean_environment() | traces.environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as launcher:
        try:
            assert wait_until(lambda: count_ready(traces, launcher, 2))
            time.sleep(0.3)
            for pid, stat in traces.processes().items():
                if "(fault_rank)" in stat:
                    harness.os.kill(pid, signal.SIGSTOP)
            launcher.send_signal(signal.SIGKILL)
            gone = wait_until(lambda: not traces.processes())
            left = traces.processes()
        finally:
            traces.end_all()
    assert gone, left
