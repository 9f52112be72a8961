# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs from Python: float32 and float64 travel as 16-bit floats."""

import numpy as np
import pytest

import ranks
import unisono


def given(rank, dtype=np.float32, count=5000):
    return (np.arange(count, dtype=dtype) * 7 + rank * 13) % 101 / dtype(7) - dtype(6)


def expected(size, dtype=np.float32):
    total = sum(given(rank, dtype).astype(np.float16).astype(np.float32) for rank in range(size))
    return total.astype(np.float16).astype(dtype) * dtype(1 / size)


@pytest.mark.parametrize("transport", ["auto", "tcp"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [2, 3])
def test_every_form_gives_the_rounded_average(size, dtype, transport):
    def body(engine):
        mine = given(engine.rank(), dtype)
        wanted = expected(engine.size(), dtype)
        in_place, later = mine.copy(), mine.copy()
        grouped, later_grouped = [mine.copy(), mine.copy()], [mine.copy()]
        np.testing.assert_array_equal(engine.allreduce(mine, codec="fp16"), wanted)
        np.testing.assert_array_equal(engine.allreduce_async(mine, codec="fp16").wait(), wanted)
        engine.allreduce_(in_place, codec="fp16")
        engine.allreduce_async_(later, codec="fp16").wait()
        engine.grouped_allreduce_(grouped, codec="fp16")
        engine.grouped_allreduce_async_(later_grouped, codec="fp16").wait()
        for written in (in_place, later, *grouped, *later_grouped):
            np.testing.assert_array_equal(written, wanted)
        for result in engine.grouped_allreduce([mine, mine], codec="fp16"):
            np.testing.assert_array_equal(result, wanted)

    ranks.as_threads(size, body, transport=transport)


def test_the_jobs_codec_is_for_calls_that_do_not_say():
    def body(engine):
        mine = np.array([1.0, 1.0 + 2.0**-12], np.float32)
        assert engine.allreduce(mine).tolist() == [1.0, 1.0]
        assert engine.allreduce(mine, codec="none").tolist() == mine.tolist()
        counts = np.array([70_001], np.int32)
        assert engine.allreduce(counts, op=unisono.ReduceOp.Sum).tolist() == [140_002]

    ranks.as_threads(2, body, codec="bf16")


def test_an_unknown_codec_is_refused_at_the_call():
    def body(engine):
        with pytest.raises(unisono.InvalidArgument, match="there is no stage 'zip'.*fp16, bf16"):
            engine.allreduce_async(np.zeros(4, np.float32), codec="zip")

    ranks.as_threads(1, body)


def test_ranks_that_differ_get_a_mismatch_that_names_both():
    def body(engine):
        codec = "fp16" if engine.rank() == 0 else "none"
        with pytest.raises(unisono.Mismatch, match="codec fp16, but another rank specified codec none"):
            engine.allreduce(np.zeros(4, np.float32), name="x", codec=codec)

    ranks.as_threads(2, body)
