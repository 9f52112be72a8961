# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Every dtype, operator and collective against NumPy, with ranks as threads and as processes."""

import pathlib

import pytest

import ranks
import reference
import suite

SIZES = [2, 3, 4]
SUITE = pathlib.Path(suite.__file__)


@pytest.mark.parametrize("case", suite.CASES)
@pytest.mark.parametrize("size", SIZES)
def test_threads(size: int, case: str) -> None:
    ranks.as_threads(size, suite.CASES[case])


@pytest.mark.parametrize("case", suite.CASES)
@pytest.mark.parametrize("size", SIZES)
def test_processes(size: int, case: str) -> None:
    output = ranks.as_processes(size, SUITE, case)
    assert output.count("all as NumPy says") == size


@pytest.mark.parametrize("case", suite.CASES)
def test_alone(case: str) -> None:
    ranks.as_threads(1, suite.CASES[case])


def test_small_floats_are_covered() -> None:
    if not reference.SMALL_FLOATS:
        pytest.skip("ml_dtypes is not installed: bfloat16 and float8 were not compared")
