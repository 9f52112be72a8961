# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What NumPy says a collective gives, and inputs chosen so that this is well defined.

Every rank can compute every rank's input, so each checks its own result without help.
"""

from __future__ import annotations

import zlib

import numpy as np

from unisono import And, Average, Max, Min, Or, Product, ReduceOp, Sum

try:
    import ml_dtypes
    SMALL_FLOATS = [np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn),
                    np.dtype(ml_dtypes.float8_e5m2)]
except ImportError:
    SMALL_FLOATS = []

INTEGERS = [np.dtype(name) for name in
            ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
FLOATS = [np.dtype(name) for name in ("float32", "float64", "float16")]
DTYPES = [*INTEGERS, *FLOATS, *SMALL_FLOATS, np.dtype(bool)]

# Relative to the largest magnitude that occurs; each of the few additions rounds once.
TOLERANCE = {"float64": 1e-14, "float32": 1e-6, "float16": 4e-3, "bfloat16": 3e-2,
             "float8_e4m3fn": 0.25, "float8_e5m2": 0.5}


def is_float(dtype: np.dtype) -> bool:
    return dtype.name in TOLERANCE


def operators(dtype: np.dtype) -> list[ReduceOp]:
    if dtype == bool:
        return [Sum, Min, Max, Product, And, Or]
    both = [Sum, Average, Min, Max, Product]
    return both if is_float(dtype) else [*both, And, Or]


def values(dtype: np.dtype, shape: tuple[int, ...], rank: int, seed: str) -> np.ndarray:
    """Small enough that sums and products of a few ranks fit every type."""
    random = np.random.default_rng([zlib.crc32(seed.encode()), rank])
    if dtype == bool:
        return np.asarray(random.random(shape) < 0.7)
    if dtype.itemsize == 1 or dtype.name == "bfloat16":
        low = 0 if dtype.kind == "u" else -2
        return np.asarray(random.integers(low, 3, shape)).astype(dtype)
    if is_float(dtype):
        return np.asarray(random.normal(size=shape)).astype(dtype)
    low = 0 if dtype.kind == "u" else -9
    return np.asarray(random.integers(low, 10, shape)).astype(dtype)


def reduced(op: ReduceOp, inputs: list[np.ndarray]) -> np.ndarray:
    """In float64 for floats; exact for everything else."""
    dtype = inputs[0].dtype
    wide = np.stack([x.astype(np.float64) if is_float(dtype) else x for x in inputs])
    if dtype == bool:
        return wide.any(0) if op in (Sum, Max, Or) else wide.all(0)
    if len(inputs) == 1:
        return wide[0]  # nothing was reduced: logical operators leave integers as they are, as MPI
    if op in (And, Or):
        truth = wide != 0
        return (truth.all(0) if op == And else truth.any(0)).astype(dtype)
    if op == Sum:
        return wide.sum(0, dtype=wide.dtype)
    if op == Product:
        return wide.prod(0, dtype=wide.dtype)
    if op in (Min, Max):
        return wide.min(0) if op == Min else wide.max(0)
    total = wide.sum(0, dtype=wide.dtype)
    if is_float(dtype):
        return total / len(inputs)
    # Integer averages truncate toward zero.
    return np.asarray(np.sign(total) * (np.abs(total) // len(inputs)), dtype)


def check(result: np.ndarray, expected: np.ndarray, dtype: np.dtype, what: str) -> None:
    assert isinstance(result, np.ndarray), f"{what}: got a {type(result).__name__}"
    assert result.dtype == dtype, f"{what}: dtype {result.dtype}, expected {dtype}"
    assert result.shape == expected.shape, f"{what}: shape {result.shape}, not {expected.shape}"
    if not is_float(dtype):
        assert np.array_equal(result, expected), f"{what}: {result} is not {expected}"
    elif expected.size:
        worst = np.abs(result.astype(np.float64) - expected).max()
        limit = TOLERANCE[dtype.name] * max(1.0, float(np.abs(expected).max()))
        assert worst <= limit, f"{what}: off by {worst}, allowed {limit}"
