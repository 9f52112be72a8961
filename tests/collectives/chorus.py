# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Every collective at once, from several threads, in an order of each rank's own.

The body of one rank; runs under any launcher:
``unisono run -np 5 --transport tcp python tests/collectives/chorus.py SEED``.
Results must be right, and every rank must have seen the same agreed order.
"""

from __future__ import annotations

import random
import sys
import threading
from typing import Callable

import numpy as np

import unisono

THREADS = 3
ROUNDS = 2
SIZES = [1, 64, 1000, 40_000]

Task = Callable[[], None]


def allreduce(engine: unisono.Engine, name: str, count: int) -> Task:
    ranks = engine.size()
    handle = engine.allreduce_async(np.arange(count) + engine.rank(), name=name, op=unisono.Sum)

    def check() -> None:
        expected = np.arange(count) * ranks + ranks * (ranks - 1) // 2
        assert np.array_equal(handle.wait(), expected), name

    return check


def allreduce_in_place(engine: unisono.Engine, name: str, count: int) -> Task:
    data = np.full(count, float(engine.rank()), np.float32)
    handle = engine.allreduce_async_(data, name=name)

    def check() -> None:
        handle.wait()
        assert np.allclose(data, (engine.size() - 1) / 2), name

    return check


def grouped(engine: unisono.Engine, name: str, count: int) -> Task:
    data = [np.full(count + i, engine.rank(), np.int32) for i in range(3)]
    handle = engine.grouped_allreduce_async(data, name=name, op=unisono.Max)

    def check() -> None:
        for result in handle.wait():
            assert (result == engine.size() - 1).all(), name

    return check


def allgather(engine: unisono.Engine, name: str, count: int) -> Task:
    rows = [count % 97 + rank for rank in range(engine.size())]
    handle = engine.allgather_async(np.full(rows[engine.rank()], engine.rank()), name=name)

    def check() -> None:
        assert np.array_equal(handle.wait(), np.repeat(np.arange(engine.size()), rows)), name

    return check


def broadcast(engine: unisono.Engine, name: str, count: int) -> Task:
    root = count % engine.size()
    handle = engine.broadcast_async(np.full(count, engine.rank()), root, name=name)

    def check() -> None:
        assert (handle.wait() == root).all(), name

    return check


def reducescatter(engine: unisono.Engine, name: str, count: int) -> Task:
    handle = engine.reducescatter_async(np.arange(count), name=name, op=unisono.Sum)

    def check() -> None:
        expected = np.array_split(np.arange(count), engine.size())[engine.rank()] * engine.size()
        assert np.array_equal(handle.wait(), expected), name

    return check


def alltoall(engine: unisono.Engine, name: str, count: int) -> Task:
    ranks, me = engine.size(), engine.rank()
    splits = [(me + to) % 3 for to in range(ranks)]
    handle = engine.alltoall_async(np.full(sum(splits), me), splits, name=name)

    def check() -> None:
        expected = [(rank + me) % 3 for rank in range(ranks)]
        result, received = handle.wait()
        assert list(received) == expected, name
        assert np.array_equal(result, np.repeat(np.arange(ranks), expected)), name

    return check


KINDS = [allreduce, allreduce_in_place, grouped, allgather, broadcast, reducescatter, alltoall]


def sing(engine: unisono.Engine, seed: int) -> None:
    """One rank's part: the same operations as everyone, in its own order, from several threads."""
    parts = [(kind, f"{kind.__name__}.{count}", count) for kind in KINDS for count in SIZES]
    own = random.Random(seed * 1000 + engine.rank())
    for _ in range(ROUNDS):
        own.shuffle(parts)
        failures: list[BaseException] = []

        def voice(mine: list) -> None:
            try:
                checks = [kind(engine, name, count) for kind, name, count in mine]
                own_order = random.Random(len(mine))
                own_order.shuffle(checks)
                for check in checks:
                    check()
            except BaseException as error:  # noqa: BLE001: raised again on the rank's main thread
                failures.append(error)

        voices = [threading.Thread(target=voice, args=(parts[i::THREADS],))
                  for i in range(THREADS)]
        for thread in voices:
            thread.start()
        for thread in voices:
            thread.join()
        if failures:
            raise failures[0]
        engine.barrier()
        # Nothing new can be agreed until this rank submits again, so all read the same moment.
        digest = engine.stats()["order_digest"]
        digests = engine.allgather(np.array([digest], np.uint64), name="digest")
        assert (digests == digest).all(), f"seed {seed}: the ranks agreed on different orders"


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with unisono.Engine() as engine:
        sing(engine, seed)
        print(f"rank {engine.rank()} of {engine.size()} in unison, seed {seed}", flush=True)


if __name__ == "__main__":
    main()
