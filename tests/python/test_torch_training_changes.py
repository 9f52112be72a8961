# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The same as test_torch_training.py for optimizers that change while they train."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")

job, test_two_ranks_are_one_large_batch, test_the_job_ends_well = checked.tests_of(
    "torch_training_changes.py")
