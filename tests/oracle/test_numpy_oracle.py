# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Every dtype, operator and collective against NumPy, with ranks as threads and as processes."""

import pathlib

import numpy as np
import pytest

import ranks
import reference
import suite
import unisono

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


def test_every_type_that_the_engine_carries_is_compared() -> None:
    """A type that the engine learns, and NumPy's side does not, would go unnoticed."""
    if not reference.SMALL_FLOATS:
        pytest.skip("ml_dtypes is not installed: bfloat16 and float8 were not compared")
    assert {dtype.name for dtype in reference.DTYPES} == set(unisono.dtypes)


@pytest.mark.parametrize("dtype", reference.SMALL_FLOATS or ["bfloat16"], ids=str)
def test_small_floats_are_covered(dtype: np.dtype) -> None:
    """Their bits arrive as ml_dtypes has them: each value that is exact in the type comes back."""
    if not reference.SMALL_FLOATS:
        pytest.skip("ml_dtypes is not installed: bfloat16 and float8 were not compared")
    exact = np.array([0.0, 0.5, -1.0, 1.5, 2.0, -3.0], np.float32)

    def body(engine: unisono.Engine) -> np.ndarray:
        return engine.allgather(exact.astype(dtype), name="exact")

    for gathered in ranks.as_threads(2, body):
        assert gathered.dtype == dtype
        assert gathered.astype(np.float32).tolist() == [*exact, *exact]
