# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What the calls of unisono.torch hold to, on three ranks."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")

job, test_on_three_ranks, test_the_job_ends_well = checked.tests_of(
    "torch_collectives_rules.py", 3)
