# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs that pick, quantise or factor, from Python."""

import numpy as np
import pytest

import ranks
import unisono

CODECS = ["qsgd:4", "ef|qsgd:2", "ef|fp8:e4m3", "ef|topk:512:4", "ef|topk:512:4|qsgd:4",
          "ef|topk:global:0.02", "ef|threshold:0.9", "ef|powersgd:2", "ef|fp16"]


def given(rank, step, count=3000):
    return np.random.default_rng(100 * rank + step).uniform(-1, 1, count).astype(np.float32)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [1, 3])
def test_all_ranks_get_the_same_and_nothing_is_lost(size, codec):
    steps = 5

    def body(engine):
        results = [engine.allreduce(given(engine.rank(), step).reshape(50, 60), name="layer",
                                    op=unisono.Sum, codec=codec) for step in range(steps)]
        # The rest by one step of zeros after another, until nothing is kept.
        report, = engine.stats()["codecs"]
        assert report["codec"] == codec and report["tensors"] == steps
        assert report["skipped"] == 0 and report["ratio"] > 0 and report["exchange"]
        assert (report["residual_norm"] > 0) == codec.startswith("ef")
        return np.stack(results)

    everywhere = ranks.as_threads(size, body)
    for result in everywhere[1:]:
        np.testing.assert_array_equal(result, everywhere[0])


def test_what_is_kept_comes_later():
    def body(engine):
        first = np.array([4, 3, 0, 0, 0, 0, 0, 0], np.float32)
        assert engine.allreduce(first, name="x", codec="ef|topk:8:1").tolist() == [4] + [0] * 7
        zero = np.zeros(8, np.float32)
        assert engine.allreduce(zero, name="x", codec="ef|topk:8:1").tolist() == [0, 3] + [0] * 6

    ranks.as_threads(2, body)


def test_a_state_goes_on_with_the_same_bits():
    def body(engine):
        def step(number):
            return engine.allreduce(given(engine.rank(), number), name="x", codec="ef|topk:512:2|qsgd:4")

        step(0)
        state = engine.codec_state()
        once = [step(1), step(2)]
        engine.barrier()
        engine.load_codec_state(state)
        engine.barrier()
        np.testing.assert_array_equal(once, [step(1), step(2)])
        with pytest.raises(unisono.InvalidArgument, match="not the state of codecs"):
            engine.load_codec_state(state[:-1])
        return state

    states = ranks.as_threads(3, body)
    assert len(unisono.redistribute_codec_states(states, 2)) == 2
    with pytest.raises(unisono.InvalidArgument):
        unisono.redistribute_codec_states(states, 0)


def test_what_is_no_number_is_nan_everywhere():
    def body(engine):
        mine = given(engine.rank(), 0)
        if engine.rank() == 1:
            mine[17] = np.inf
        assert np.isnan(engine.allreduce(mine, name="x", codec="ef|topk:512:4")).all()
        assert engine.stats()["codecs"][0]["skipped"] == 1
        assert engine.stats()["codecs"][0]["residual_norm"] == 0

    ranks.as_threads(2, body)


def test_rules_by_name_hold_where_a_call_says_nothing():
    def body(engine):
        ones = np.ones(600, np.float32)
        assert engine.allreduce(ones, name="conv.weight")[599] == 0
        assert engine.allreduce(ones, name="conv.bias")[599] == 1
        assert engine.allreduce(ones, name="conv.weight.again", codec="none")[599] == 1
        assert engine.allreduce(np.ones(600, np.int32), name="conv.count")[599] == 1

    ranks.as_threads(2, body, codec_rules="*.bias=none,conv*=ef|topk:512:4")


@pytest.mark.parametrize("codec, text", [
    ("topk:512:4|ef", "character 12: 'ef' comes after 'topk'; put it before"),
    ("ef|topk:512", "write topk:BUCKET:K"),
    ("qsgd:3", "qsgd:2, qsgd:4 or qsgd:8"),
])
def test_a_refusal_says_where_and_what_to_write(codec, text):
    def body(engine):
        with pytest.raises(unisono.InvalidArgument, match=text):
            engine.allreduce(np.ones(4, np.float32), name="x", codec=codec)

    ranks.as_threads(1, body)
    with pytest.raises(unisono.InvalidArgument, match=text):
        unisono.Options().set("codec", codec)
