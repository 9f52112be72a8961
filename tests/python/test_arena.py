# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays in memory that all ranks of the host map."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import unisono


def on_ranks(size, body):
    world = unisono.ThreadWorld(size)

    def rank(index):
        with unisono.Engine(world=world, rank=index) as engine:
            return body(engine)

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(rank, range(size)))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("shape", [(3,), (100, 300), ()])
def test_arena_arrays_reduce_in_place(size, shape):
    def body(engine):
        array = engine.arena_empty(shape, "float64")
        assert array.shape == shape and array.dtype == np.float64 and not array.any()
        array[...] = engine.rank() + 1
        engine.allreduce_(array, name="a", op=unisono.Sum)
        engine.barrier()
        return array.copy()

    for result in on_ranks(size, body):
        assert (result == size * (size + 1) / 2).all()


def test_an_arena_array_outlives_its_engine(solo):
    array = solo.arena_empty(10, np.int32)
    solo.shutdown()
    gc.collect()
    array += 5
    assert array.tolist() == [5] * 10


def test_asking_for_more_than_there_is_says_so():
    with unisono.Engine(world=unisono.ThreadWorld(1), arena_bytes="16M") as engine:
        with pytest.raises(unisono.OutOfMemory, match="arena_bytes"):
            engine.arena_empty(1 << 30)
