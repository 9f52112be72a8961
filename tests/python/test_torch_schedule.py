# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that end in the next forward pass give the parameters that plain steps give."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")

job, test_a_schedule_changes_no_bit, test_the_job_ends_well = checked.tests_of("torch_schedule.py")


@pytest.mark.long
def test_three_ranks_agree_within_rounding():
    three = checked.Job("torch_schedule.py", 3)
    for name in checked.names("torch_schedule.py"):
        three.confirm(name)
