# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks train to the parameters that one process finds on the whole batch."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")

SCRIPT = "torch_training.py"


@pytest.fixture(scope="module")
def job():
    return checked.Job(SCRIPT, 2)


@pytest.mark.parametrize("name", checked.names(SCRIPT))
def test_two_ranks_are_one_large_batch(job, name):
    job.confirm(name)
