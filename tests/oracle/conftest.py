# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: gigabytes or minutes; not part of make test")
