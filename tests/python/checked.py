# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a job of named checks (jobs/checks.py) once, and shows each check as a test of its own."""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Callable

import pytest

import ranks

JOBS = pathlib.Path(__file__).parent / "jobs"


def names(script: str) -> list[str]:
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
    passed = len(re.findall(rf"\bok {name}$", output, re.MULTILINE))
    assert passed == size, f"{name} passed on {passed} of {size} ranks\n{output[-6000:]}"


class Job:
    """What a job of checks printed."""

    def __init__(self, script: str, size: int, *arguments: str, **environment: str):
        self.size = size
        self.output = ranks.as_processes(size, JOBS / script, *arguments, expect=None, environment={
            "OMP_NUM_THREADS": "1", **environment})

    def confirm(self, name: str) -> None:
        confirm(self.output, name, self.size)

    def confirm_good_end(self) -> None:
        """No rank failed after its checks, and none had anything to complain about at exit."""
        for complaint in ("the job failed", "leaked", "Exception ignored"):
            assert complaint not in self.output, self.output[-4000:]


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
