# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Every collective against NumPy, as the body of one rank.

Runs under any launcher: ``unisono run -np 3 python tests/oracle/suite.py [case ...]``.
"""

from __future__ import annotations

import sys
from typing import Callable

import numpy as np

import unisono
from reference import DTYPES, check, is_float, operators, reduced, values

SHAPES = [(), (0,), (3, 0), (1,), (7,), (3, 5), (1031,)]


def inputs_of(engine: unisono.Engine, dtype: np.dtype, shape: tuple[int, ...],
              seed: str) -> list[np.ndarray]:
    return [values(dtype, shape, rank, seed) for rank in range(engine.size())]


def check_identical(engine: unisono.Engine, result: np.ndarray, what: str) -> None:
    """Bit for bit the same on all ranks."""
    mine = np.frombuffer(result.tobytes(), np.uint8)
    everyone = engine.allgather(mine[None, :], name=f"identical.{what}")
    assert (everyone == mine).all(), f"{what}: the ranks hold different bits"


def allreduce(engine: unisono.Engine) -> None:
    pending = []
    for dtype in DTYPES:
        for op in operators(dtype):
            for shape in SHAPES:
                what = f"{dtype.name}.{op.name}.{shape}"
                inputs = inputs_of(engine, dtype, shape, what)
                handle = engine.allreduce_async(inputs[engine.rank()], name=what, op=op)
                pending.append((what, dtype, inputs, op, handle))
    for what, dtype, inputs, op, handle in pending:
        check(handle.wait(), reduced(op, inputs), dtype, what)


def allreduce_in_place(engine: unisono.Engine) -> None:
    for dtype in DTYPES:
        what = f"in_place.{dtype.name}"
        inputs = inputs_of(engine, dtype, (257,), what)
        mine = inputs[engine.rank()].copy()
        assert engine.allreduce_(mine, name=what, op=unisono.Sum) is mine
        check(mine, reduced(unisono.Sum, inputs), dtype, what)


def allreduce_large_is_identical(engine: unisono.Engine) -> None:
    for name in ("float32", "float16", "int64"):
        dtype = np.dtype(name)
        what = f"large.{name}"
        inputs = inputs_of(engine, dtype, (300_007,), what)
        result = engine.allreduce(inputs[engine.rank()], name=what, op=unisono.Sum)
        check(result, reduced(unisono.Sum, inputs), dtype, what)
        check_identical(engine, result, what)


def allreduce_scales(engine: unisono.Engine) -> None:
    for dtype in DTYPES:
        if dtype == bool:
            continue
        what = f"scales.{dtype.name}"
        inputs = inputs_of(engine, dtype, (33,), what)
        result = engine.allreduce(inputs[engine.rank()], name=what, op=unisono.Sum,
                                  prescale_factor=2.0, postscale_factor=0.5)
        check(result, reduced(unisono.Sum, inputs), dtype, what)
    threes = np.full(5, 3, np.int32)
    result = engine.allreduce(threes, name="scales.truncate", op=unisono.Sum, prescale_factor=0.5)
    assert (result == engine.size()).all(), f"each 1.5 is cut to 1 before summing: {result}"


def strided_and_unaligned(engine: unisono.Engine) -> None:
    def of(rank: int) -> np.ndarray:
        return np.arange(60, dtype=np.float32).reshape(6, 10) + rank

    total = sum(of(rank) for rank in range(engine.size()))
    mine = of(engine.rank())
    result = engine.allreduce(mine[:, ::3], name="strided", op=unisono.Sum)
    assert np.array_equal(result, total[:, ::3])
    result = engine.allreduce(mine.T, name="transposed", op=unisono.Sum)
    assert np.array_equal(result, total.T) and result.flags.c_contiguous

    before = mine.copy()
    engine.allreduce_(mine[1::2, ::2], name="strided_in_place", op=unisono.Sum)
    assert np.array_equal(mine[1::2, ::2], total[1::2, ::2]), "the view holds the result"
    assert np.array_equal(mine[::2], before[::2]), "and nothing beside it was written"

    raw = np.zeros(4 * 101 + 1, np.uint8)
    unaligned = raw[1:].view(np.float32)
    unaligned[:] = engine.rank() + 1
    assert not unaligned.flags.aligned
    engine.allreduce_(unaligned, name="unaligned", op=unisono.Sum)
    size = engine.size()
    assert (unaligned == size * (size + 1) / 2).all()

    swapped = np.arange(5, dtype=">f4")
    result = engine.allreduce(swapped, name="swapped", op=unisono.Sum)
    assert np.array_equal(result, np.arange(5) * size)


def grouped(engine: unisono.Engine) -> None:
    shapes = [(4,), (), (2, 3), (0,), (1000,)]
    for dtype in DTYPES:
        inputs = [inputs_of(engine, dtype, shape, f"group{i}.{dtype.name}")
                  for i, shape in enumerate(shapes)]
        mine = [each[engine.rank()] for each in inputs]
        results = engine.grouped_allreduce(mine, name=dtype.name, op=unisono.Max)
        for result, each in zip(results, inputs):
            check(result, reduced(unisono.Max, each), dtype, f"grouped.{dtype.name}")
        copies = [x.copy() for x in mine]
        back = engine.grouped_allreduce_(copies, name=f"{dtype.name}.in_place", op=unisono.Max)
        for copy, same, result in zip(copies, back, results):
            assert copy is same and np.array_equal(copy, result)


def rows_of(dtype: np.dtype, rank: int, seed: str) -> np.ndarray:
    return values(dtype, ((rank * 2) % 5, 3), rank, seed)


def allgather(engine: unisono.Engine) -> None:
    for dtype in DTYPES:
        everyone = [rows_of(dtype, rank, "allgather") for rank in range(engine.size())]
        result = engine.allgather(everyone[engine.rank()], name=dtype.name)
        assert result.dtype == dtype and np.array_equal(result, np.concatenate(everyone))
    nothing = engine.allgather(np.empty((0, 2), np.int16), name="nothing")
    assert nothing.shape == (0, 2) and nothing.dtype == np.int16


def grouped_allgather(engine: unisono.Engine) -> None:
    groups = [[rows_of(np.dtype("f4"), rank, f"ga{i}") for rank in range(engine.size())]
              for i in range(3)]
    results = engine.grouped_allgather([group[engine.rank()] for group in groups], name="group")
    for group, result in zip(groups, results):
        assert np.array_equal(result, np.concatenate(group))


def broadcast(engine: unisono.Engine) -> None:
    for root in range(engine.size()):
        for dtype in DTYPES:
            for shape in [(), (0,), (3, 5), (1031,)]:
                what = f"{dtype.name}.{shape}.{root}"
                inputs = inputs_of(engine, dtype, shape, what)
                mine = inputs[engine.rank()].copy()
                result = engine.broadcast(mine, root, name=what)
                assert result.dtype == dtype and np.array_equal(result, inputs[root]), what
                assert np.array_equal(mine, inputs[engine.rank()]), "the input is left alone"
                assert engine.broadcast_(mine, root, name=what) is mine
                assert np.array_equal(mine, inputs[root]), what


def part(array: np.ndarray, size: int, rank: int) -> np.ndarray:
    """Earlier ranks take the remainder rows, which is what array_split does too."""
    return np.array_split(array, size)[rank]


def reducescatter(engine: unisono.Engine) -> None:
    for dtype in DTYPES:
        for op in operators(dtype):
            for rows in (0, 1, 5, 12):
                what = f"{dtype.name}.{op.name}.{rows}"
                inputs = inputs_of(engine, dtype, (rows, 3), what)
                result = engine.reducescatter(inputs[engine.rank()], name=what, op=op)
                expected = part(reduced(op, inputs), engine.size(), engine.rank())
                check(result, expected, dtype, what)


def grouped_reducescatter(engine: unisono.Engine) -> None:
    dtype = np.dtype("i4")
    groups = [inputs_of(engine, dtype, (rows, 2), f"gr{rows}") for rows in (7, 2, 20)]
    results = engine.grouped_reducescatter([group[engine.rank()] for group in groups],
                                           name="group", op=unisono.Sum)
    for group, result in zip(groups, results):
        check(result, part(reduced(unisono.Sum, group), engine.size(), engine.rank()), dtype, "gr")


def alltoall(engine: unisono.Engine) -> None:
    size, me = engine.size(), engine.rank()

    def splits(rank: int) -> list[int]:
        return [(rank + 2 * to) % 4 for to in range(size)]

    def cut(array: np.ndarray, parts: list[int], index: int) -> np.ndarray:
        start = sum(parts[:index])
        return array[start:start + parts[index]]

    for dtype in DTYPES:
        sent = [values(dtype, (sum(splits(rank)), 2), rank, "a2a") for rank in range(size)]
        expected = np.concatenate([cut(sent[rank], splits(rank), me) for rank in range(size)])
        result, received = engine.alltoall(sent[me], splits(me), name=dtype.name)
        assert result.dtype == dtype and np.array_equal(result, expected), dtype.name
        assert list(received) == [splits(rank)[me] for rank in range(size)]
    equal = engine.alltoall(np.arange(2 * size) + 100 * me, name="equal")
    expected = np.concatenate([np.arange(2 * me, 2 * me + 2) + 100 * rank for rank in range(size)])
    assert np.array_equal(equal, expected)


def process_sets(engine: unisono.Engine) -> None:
    size, me = engine.size(), engine.rank()
    odd = engine.add_process_set(range(1, size, 2)) if size > 1 else None
    even = engine.add_process_set(range(0, size, 2))
    mine = odd if me % 2 else even
    assert mine.included() and mine.ranks[mine.rank()] == me
    assert mine.size() == len(mine.ranks)
    # Unequal numbers of unnamed operations in the two sets must not disturb each other.
    for _ in range(1 + me % 2):
        total = engine.allreduce(np.array([me]), op=unisono.Sum, process_set=mine)
        assert total[0] == sum(mine.ranks)
    gathered = engine.allgather(np.array([me]), process_set=mine, name="gathered")
    assert list(gathered) == mine.ranks
    root = mine.ranks[-1]
    assert engine.broadcast(np.array(me), root, process_set=mine, name="root") == root
    engine.barrier(process_set=mine)
    assert engine.allgather_object(me, process_set=mine) == mine.ranks
    engine.barrier()
    assert engine.remove_process_set(even)
    if odd:
        assert engine.remove_process_set(odd)
    assert engine.allreduce(np.array(1), op=unisono.Sum, name="after") == size


def join(engine: unisono.Engine) -> None:
    size, me = engine.size(), engine.rank()
    # Rank r has r + 1 batches, so the last rank joins last.
    for step in range(me + 1):
        active = [rank for rank in range(size) if rank >= step]
        result = engine.allreduce(np.array([me + 1], np.int64), op=unisono.Sum, name=f"b{step}")
        assert result[0] == sum(rank + 1 for rank in active)
    assert engine.join() == size - 1
    assert engine.allreduce(np.array(1), op=unisono.Sum, name="after") == size


def objects(engine: unisono.Engine) -> None:
    me, size = engine.rank(), engine.size()
    for root in range(size):
        given = {"from": root, "blob": "x" * 1000 * root} if me == root else None
        assert engine.broadcast_object(given, root)["from"] == root
    assert engine.allgather_object(["r"] * me) == [["r"] * rank for rank in range(size)]


CASES: dict[str, Callable[[unisono.Engine], None]] = {
    case.__name__: case for case in (
        allreduce, allreduce_in_place, allreduce_large_is_identical, allreduce_scales,
        strided_and_unaligned, grouped, allgather, grouped_allgather, broadcast, reducescatter,
        grouped_reducescatter, alltoall, process_sets, join, objects)
}


def main(names: list[str]) -> None:
    with unisono.Engine() as engine:
        for name in names or CASES:
            CASES[name](engine)
        engine.barrier()
        print(f"rank {engine.rank()} of {engine.size()}: all as NumPy says", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
