# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of a job by the names of parameters; each test is one check of one job."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")
SCRIPT = "codec_rules.py"
RULES = "bias=none,weight=ef|topk:512:4,matrix=topk:2:1,factors=powersgd:2"


@pytest.fixture(scope="module")
def job():
    return checked.Job(SCRIPT, 2, UNISONO_CODEC_RULES=RULES)


@pytest.mark.parametrize("name", checked.names(SCRIPT))
def test_on_two_ranks(job, name):
    job.confirm(name)


def test_the_job_ends_well(job):
    job.confirm_good_end()
