# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
import pytest

import unisono


@pytest.fixture
def alone():
    """The default engine as a job of one rank."""
    unisono.init()
    yield
    unisono.shutdown()


@pytest.fixture
def solo():
    """An engine object as a job of one rank."""
    with unisono.Engine(world=unisono.ThreadWorld(1)) as engine:
        yield engine
