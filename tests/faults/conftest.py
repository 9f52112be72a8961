# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import harness  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: minutes of kills or soak; not part of make test")
    # Known to pytest-timeout where that is installed.
    config.addinivalue_line("markers", "timeout(seconds): longest time a test may take")


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    """Says which builds are under test, once."""
    try:
        harness.fault_rank()
    except FileNotFoundError as error:
        pytest.skip(str(error))
