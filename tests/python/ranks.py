# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a test: as threads of this process, or as processes of ``unisono run``."""

from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any, Callable, Sequence

import pytest

import unisono

# For hangs alone: a machine that has other things to do takes its time.
TIMEOUT_S = 600


def as_threads(size: int, body: Callable[[unisono.Engine], Any], timeout_s: float = TIMEOUT_S,
               **options: Any) -> list[Any]:
    """Runs body(engine) on every rank at once; returns the results, or raises the first error."""
    world = unisono.ThreadWorld(size)
    results: list[Any] = [None] * size
    errors: list[tuple[int, BaseException]] = []

    def rank_main(rank: int) -> None:
        try:
            with unisono.Engine(world=world, rank=rank, **options) as engine:
                results[rank] = body(engine)
        except BaseException as error:  # noqa: BLE001: handed to the test below
            errors.append((rank, error))

    threads = [threading.Thread(target=rank_main, args=(rank,), daemon=True)
               for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
    if errors:
        # A rank that fails leaves, and the others complain that it left: the cause comes first.
        errors.sort(key=lambda each: isinstance(each[1], (unisono.PeerLeft, unisono.PeerLost)))
        raise errors[0][1]
    hanging = [rank for rank, thread in enumerate(threads) if thread.is_alive()]
    assert not hanging, f"ranks {hanging} of {size} did not end within {timeout_s} s"
    return results


def command() -> str:
    """The unisono command to test, or a visible skip."""
    beside = pathlib.Path(sys.executable).parent / "unisono"
    found = os.environ.get("UNISONO_BIN") or (str(beside) if beside.exists() else None)
    found = found or shutil.which("unisono")
    if found is None:
        pytest.skip("the unisono command was not found: set UNISONO_BIN or pip install .")
    return found


def as_processes(size: int, script: pathlib.Path, *arguments: str, flags: Sequence[str] = (),
                 timeout_s: float = TIMEOUT_S, expect: int | None = 0,
                 environment: dict[str, str] | None = None) -> str:
    """Runs the script on every rank; returns what they printed, after checking the exit code."""
    line = [command(), "run", "-np", str(size), *flags, sys.executable, str(script), *arguments]
    return run_line(line, timeout_s, expect, environment)


class Running:
    """A command that runs while the test looks at what it has printed so far. Thread: any."""

    def __init__(self, line: Sequence[str], environment: dict[str, str]):
        self._process = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True, env={**os.environ, **environment})
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        # A test run that is broken off leaves no job behind.
        atexit.register(self.kill)

    def output(self) -> str:
        with self._changed:
            return "".join(self._lines)

    def wait(self, done: Callable[[], bool], timeout_s: float) -> bool:
        """Waits until done() or the end of the command; False when the time has passed."""
        with self._changed:
            return self._changed.wait_for(lambda: self._ended or done(), timeout_s)

    def kill(self) -> None:
        """Ends the command and what it has started, unless it has ended."""
        atexit.unregister(self.kill)
        with self._changed:
            if not self._ended:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        # Noted before the process is waited for, because its number may be another's afterwards.
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._process.wait()


def run_line(line: Sequence[str], timeout_s: float = TIMEOUT_S, expect: int | None = 0,
             environment: dict[str, str] | None = None) -> str:
    job = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           start_new_session=True, env={**os.environ, **(environment or {})})
    try:
        output, _ = job.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        output, _ = job.communicate()
        pytest.fail(f"{' '.join(line)} did not end within {timeout_s} s:\n{output[-4000:]}")
    assert expect in (None, job.returncode), (
        f"{' '.join(line)} ended with {job.returncode}, not {expect}:\n{output[-4000:]}")
    return output
