# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Broadcasting parameters, optimizer state and objects, on two ranks."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")

SCRIPT = "torch_functions.py"


@pytest.fixture(scope="module")
def job():
    return checked.Job(SCRIPT, 2)


@pytest.mark.parametrize("name", checked.names(SCRIPT))
def test_on_two_ranks(job, name):
    job.confirm(name)


def test_the_job_ends_well(job):
    job.confirm_good_end()
