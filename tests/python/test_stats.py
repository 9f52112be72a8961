# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What the engine says about its time."""

import time

import numpy as np
import pytest

import ranks
import unisono

STRETCHES = ["negotiation", "wait_tensors", "pack", "wait_data", "move", "unpack"]
STEPS, TENSORS = 12, 5


def work(engine, steps=STEPS):
    for _ in range(steps):
        handles = [engine.allreduce_async(np.ones(1000 * i + 1, np.float32), name=f"t{i}")
                   for i in range(TENSORS)]
        for handle in handles:
            handle.wait()


@pytest.mark.parametrize("size", [1, 3])
def test_stats_have_every_key(size):
    def body(engine):
        before = time.monotonic()
        work(engine)
        stats, wall_s = engine.stats(), time.monotonic() - before
        for stretch in STRETCHES:
            # Tensors wait at the same time, so their sum may exceed the clock, once each.
            assert 0 <= stats[f"{stretch}_s"] <= wall_s * TENSORS, (stretch, stats)
        assert isinstance(stats["slow_rank"], int) and -1 <= stats["slow_rank"] < size
        assert stats["slow_late_s"] >= 0 and isinstance(stats["verdict"], str)
        assert stats["cache_hits"] >= 0 and stats["cache_misses"] >= 0
        assert stats["operations"] >= STEPS * TENSORS and stats["operations_failed"] == 0

    ranks.as_threads(size, body)


def test_cache_hits_are_counted():
    def body(engine):
        work(engine)
        return engine.stats()["cache_hits"]

    assert min(ranks.as_threads(2, body, order="cache")) > 0


@pytest.mark.parametrize("size", [1, 3])
def test_timings_follow_every_tensor(size):
    def body(engine):
        before = time.monotonic()
        work(engine)
        wall_us = (time.monotonic() - before) * 1e6
        rows, stats = engine.timings(), engine.stats()
        mine = [row for row in rows if row["name"].startswith("allreduce.t")]
        assert len(mine) == STEPS * TENSORS
        assert {row["name"] for row in mine} == {f"allreduce.t{i}" for i in range(TENSORS)}
        for row in mine:
            index = int(row["name"][-1])
            assert row["bytes"] == 4 * (1000 * index + 1)
            assert all(row[f"{stretch}_us"] >= 0 for stretch in STRETCHES), row
            assert sum(row[f"{stretch}_us"] for stretch in STRETCHES) <= wall_us, row
        submitted = [row["submitted_us"] for row in mine if row["name"] == "allreduce.t0"]
        assert submitted == sorted(submitted) and submitted[-1] - submitted[0] <= wall_us
        for stretch in ("negotiation", "wait_tensors"):
            total_s = sum(row[f"{stretch}_us"] for row in rows) * 1e-6
            assert stats[f"{stretch}_s"] == pytest.approx(total_s, rel=0.01, abs=1e-4)

    ranks.as_threads(size, body)


def test_timings_keep_the_last_2048():
    def body(engine):
        work(engine, steps=2200 // TENSORS)
        return len(engine.timings())

    assert ranks.as_threads(2, body) == [2048, 2048]


def test_switching_to_the_cache_in_the_middle_of_steps():
    def body(engine):
        work(engine)
        pending = [engine.allreduce_async(np.full(9, i), name=f"p{i}", op=unisono.Sum)
                   for i in range(10)]
        engine.switch_order("cache")
        for i, handle in enumerate(pending):
            assert (handle.wait() == 3 * i).all()
        work(engine)
        return engine.stats()["cache_hits"], engine.stats()["order_digest"]

    results = ranks.as_threads(3, body)
    assert min(hits for hits, _ in results) > 0
    assert len({digest for _, digest in results}) == 1, results


def test_switching_to_something_unknown_is_refused(solo):
    with pytest.raises(unisono.InvalidArgument, match="fastest"):
        solo.switch_order("fastest")
    assert solo.allreduce(np.ones(1), name="after").tolist() == [1]
