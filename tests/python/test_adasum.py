# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Adasum from Python, against its definition."""

import numpy as np
import pytest

import ranks
import unisono
from unisono import Adasum


def adasum(vectors):
    """Pairs over a tree in rank order, in float64."""
    if len(vectors) == 1:
        return vectors[0].astype(np.float64)
    half = 1 << ((len(vectors) - 1).bit_length() - 1)
    a, b = adasum(vectors[:half]), adasum(vectors[half:])
    shared, aa, bb = a @ b, a @ a, b @ b
    return ((1 - shared / (2 * aa) if aa else 1) * a) + ((1 - shared / (2 * bb) if bb else 1) * b)


def given(rank, dtype, count=1501):
    return np.random.default_rng(rank).normal(0.3, 1.0, count).astype(dtype)


@pytest.mark.parametrize("transport", ["auto", "tcp"])
@pytest.mark.parametrize("dtype, tolerance", [("float16", 4e-3), ("float32", 1e-5),
                                              ("float64", 1e-12)])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_follows_its_definition(size, dtype, tolerance, transport):
    def body(engine):
        mine = given(engine.rank(), dtype)
        result = engine.allreduce(mine, op=Adasum)
        in_place = [mine.copy(), mine[:7].copy()]
        engine.grouped_allreduce_(in_place, op=Adasum)
        np.testing.assert_array_equal(in_place[0], result)
        small = adasum([given(rank, dtype)[:7] for rank in range(size)])
        np.testing.assert_allclose(in_place[1], small, rtol=tolerance, atol=tolerance)
        return result

    results = ranks.as_threads(size, body, transport=transport)
    wanted = adasum([given(rank, dtype) for rank in range(size)])
    for result in results:
        np.testing.assert_array_equal(result, results[0])
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)


def test_is_for_allreduce_of_floats_only():
    def body(engine):
        with pytest.raises(RuntimeError, match="Adasum is for allreduce only") as raised:
            engine.reducescatter(np.zeros(4, np.float32), op=Adasum)
        assert isinstance(raised.value, unisono.Error) and not raised.value.retryable
        with pytest.raises(ValueError, match="not int32"):
            engine.allreduce(np.zeros(4, np.int32), op=Adasum)

    ranks.as_threads(1, body)
