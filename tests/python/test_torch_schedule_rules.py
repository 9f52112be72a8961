# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""While steps are pending nobody reads an old value, waits for more than is needed, or is left
without an error."""

import pytest

import checked

pytest.importorskip("torch", reason="torch is not installed")

job, test_pending_steps, test_the_job_ends_well = checked.tests_of("torch_schedule_rules.py")
