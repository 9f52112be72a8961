# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A job whose options name a codec with feedback; each test is one check of one job."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")
SCRIPT = "job_codec.py"


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return checked.Job(SCRIPT, 2, lambda: str(tmp_path_factory.mktemp("store") / "file"),
                       UNISONO_CODEC="ef|topk:512:4")


@pytest.mark.parametrize("name", checked.names(SCRIPT))
def test_on_two_ranks(job, name):
    job.confirm(name)


def test_the_job_ends_well(job):
    job.confirm_good_end()
