# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Training by different means agrees, endures threads and forks, does not leak, and ends well; and
every rank is told of the one that does not do its part."""

import sys

import pytest

import checked
import ranks

pytest.importorskip("torch", reason="torch is not installed")

TOGETHER, DEPARTURES = "torch_robustness.py", "torch_departures.py"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    return checked.Job(TOGETHER, 2, lambda: str(tmp_path_factory.mktemp("store") / "file"), "1000")


@pytest.fixture(scope="module")
def departures():
    """Forks ranks of its own, so that it is a plain process itself."""
    return ranks.run_line([sys.executable, str(checked.JOBS / DEPARTURES)], expect=None,
                          environment=ONE_THREAD)


@pytest.mark.parametrize("name", checked.names(TOGETHER))
def test_on_two_ranks(together, name):
    together.confirm(name)


def test_the_job_ends_well(together):
    together.confirm_good_end()


@pytest.mark.parametrize("name", checked.names(DEPARTURES))
def test_of_forked_ranks(departures, name):
    checked.confirm(departures, name, 1)


@pytest.mark.long
def test_ten_thousand_steps_do_not_leak(tmp_path):
    job = checked.Job(TOGETHER, 2, str(tmp_path / "file"), "10000",
                      check_timeout_s=ranks.TIMEOUT_S)
    for name in checked.names(TOGETHER):
        job.confirm(name)
