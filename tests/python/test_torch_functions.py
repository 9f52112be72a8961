# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Broadcasting parameters, optimizer state and objects, on two ranks."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")

job, test_on_two_ranks, test_the_job_ends_well = checked.tests_of("torch_functions.py")
