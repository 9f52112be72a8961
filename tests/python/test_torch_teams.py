# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers that name the team that moves their gradients."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")

job, test_teams_of_optimizers, test_the_job_ends_well = checked.tests_of("torch_teams.py")
