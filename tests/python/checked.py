# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a job of named checks (jobs/checks.py), and shows each check as a test of its own.

A test waits only until its own check is done. A check that fails ends the job, because its ranks
are out of step; the test of the next check then starts the job anew from there. So a failure, or a
hang, marks the one check, and costs the others no more than a new start.
"""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Callable, Optional, Union

import pytest

import ranks
import warm_start

JOBS = pathlib.Path(__file__).parent / "jobs"
# For hangs alone, and within the time that pytest has for a test: the hang belongs to its check.
CHECK_TIMEOUT_S = 240
NO_CHECKS = "-"

# What is made anew for each start of a job: a store's file must not be one that was used.
Argument = Union[str, Callable[[], str]]


def names(script: Union[str, pathlib.Path]) -> list[str]:
    """The functions of the script marked with @check, found without running it."""
    tree = ast.parse((JOBS / script).read_text())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)
            and any(isinstance(mark, ast.Name) and mark.id == "check"
                    for mark in node.decorator_list)]


def confirm(output: str, name: str, size: int) -> None:
    """Passes, skips or fails the test of one check by what the ranks of its job printed."""
    skipped = re.search(rf"\bskip {name}: (.*)", output)
    if skipped:
        pytest.skip(skipped[1])
    passed = _count("ok", name, output)
    assert passed == size, f"{name} passed on {passed} of {size} ranks\n{output[-6000:]}"


def _count(word: str, name: str, output: str) -> int:
    return len(re.findall(rf"\b{word} {name}(?:: .*)?$", output, re.MULTILINE))


class Job:
    """A job of checks, started at the first check that is asked for."""

    def __init__(self, script: Union[str, pathlib.Path], size: int, *arguments: Argument,
                 launcher: Optional[list[str]] = None, check_timeout_s: float = CHECK_TIMEOUT_S,
                 **environment: Argument):
        """launcher: the command before the script; ``unisono run`` unless given."""
        self.size = size
        self._script, self._arguments, self._environment = script, arguments, environment
        self._launcher, self._check_timeout_s = launcher, check_timeout_s
        self._names = names(script)
        self._run: Optional[ranks.Running] = None
        self._to_come: list[str] = []  # the checks of this run that have not been good yet

    @property
    def output(self) -> str:
        """What the present run has printed, to its end."""
        run = self._run or self._start(NO_CHECKS)
        run.wait(lambda: False, self._check_timeout_s)
        return run.output()

    def confirm(self, name: str) -> None:
        """Passes, skips or fails the test of this check."""
        if not self._is_ahead(name) and not self._was_good(name):
            self._start(name)
        run = self._run
        assert run is not None
        if not run.wait(lambda: self._answered(name), self._check_timeout_s):
            run.kill()
            pytest.fail(f"{name} was not done on all ranks within {self._check_timeout_s} s:\n"
                        f"{run.output()[-6000:]}")
        confirm(run.output(), name, self.size)

    def confirm_good_end(self) -> None:
        """No rank failed after its checks, and none had anything to complain about at exit."""
        if self._run is None or not all(map(self._was_good, self._to_come)):
            self._start(NO_CHECKS)  # the end of a run that a check has broken says nothing
        output = self.output
        for complaint in ("the job failed", "leaked", "Exception ignored"):
            assert complaint not in output, output[-4000:]

    def _start(self, first: str) -> ranks.Running:
        if self._run is not None:
            self._run.kill()
        arguments = [each if isinstance(each, str) else each() for each in self._arguments]
        environment = {key: value if isinstance(value, str) else value()
                       for key, value in self._environment.items()}
        launcher = self._launcher or [ranks.command(), "run", "-np", str(self.size),
                                      *warm_start.python_for(environment)]
        self._to_come = [] if first == NO_CHECKS else self._names[self._names.index(first):]
        self._run = ranks.Running(
            [*launcher, str(JOBS / self._script), *arguments],
            {"OMP_NUM_THREADS": "1", "CHECKS_FROM": first, **environment})
        return self._run

    def _is_ahead(self, name: str) -> bool:
        """Whether the present run will come to this check, or is in it: nothing before it has
        gone wrong, as far as is known, when the run has ended or it answers."""
        if self._run is None or name not in self._to_come:
            return False
        before = self._to_come[:self._to_come.index(name)]
        run = self._run
        run.wait(lambda: all(map(self._answered, before)), self._check_timeout_s)
        return all(map(self._was_good, before))

    def _answered(self, name: str) -> bool:
        """Whether every rank has said how the check went."""
        output = self._run.output() if self._run is not None else ""
        return sum(_count(word, name, output) for word in ("ok", "skip", "failed")) >= self.size

    def _was_good(self, name: str) -> bool:
        output = self._run.output() if self._run is not None else ""
        return _count("ok", name, output) + _count("skip", name, output) >= self.size


def tests_of(script: str, size: int = 2) -> tuple[Callable, Callable, Callable]:
    """What shows a job to pytest: the fixture ``job`` that runs it once for a file, a test of each
    of its checks, and one of its end."""

    @pytest.fixture(scope="module")
    def job() -> Job:
        return Job(script, size)

    @pytest.mark.parametrize("name", names(script))
    def test_check(job: Job, name: str) -> None:
        job.confirm(name)

    def test_end(job: Job) -> None:
        job.confirm_good_end()

    return job, test_check, test_end
