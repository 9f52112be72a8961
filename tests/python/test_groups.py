# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A list of tensors cut into groups."""

import numpy as np
import pytest

import ranks
import unisono


def test_count_gives_runs_of_equal_length():
    assert unisono.split_groups([9] * 7, 3) == [[0, 1, 2], [3, 4], [5, 6]]
    assert unisono.split_groups([9, 9], 5) == [[0], [1]]
    assert unisono.split_groups([], 2) == []


def test_bytes_makes_the_heaviest_run_as_light_as_can_be():
    assert unisono.split_groups([1, 1, 100, 1, 1], 3, "bytes") == [[0, 1], [2], [3, 4]]
    assert unisono.split_groups(np.array([4, 4, 8]), 2, balance="bytes") == [[0, 1], [2]]


@pytest.mark.parametrize("sizes, count, balance, text", [
    ([1], 0, "count", "num_groups is 0"),
    ([1], -2, "bytes", "num_groups is -2"),
    ([1], 1.5, "count", "num_groups is 1.5"),
    ([1], 1, "weight", "balance is 'weight'"),
    ([1, -1], 1, "bytes", r"sizes\[1\] is -1"),
])
def test_bad_splits_say_what_is_wrong(sizes, count, balance, text):
    with pytest.raises(unisono.InvalidArgument, match=text):
        unisono.split_groups(sizes, count, balance)


@pytest.mark.parametrize("keywords, text", [
    ({"num_groups": 0}, "num_groups is 0"),
    ({"num_groups": 2, "groups": [[0, 1, 2]]}, "not both"),
    ({"groups": [[0], [2]]}, "no place for tensor 1"),
    ({"groups": []}, "no place for tensor 0 and 2 more"),
    ({"groups": [[0, 1], [1, 2]]}, r"tensor 1 is in groups\[0\] and again in groups\[1\]"),
    ({"groups": [[0, 1, 2, 3]]}, "names tensor 3, and there are 3"),
    ({"groups": [[0, 1, -1]]}, "names tensor -1"),
    ({"groups": [[0, 1, 2], []]}, r"groups\[1\] is empty"),
])
def test_bad_groups_say_what_is_wrong(solo, keywords, text):
    with pytest.raises(unisono.InvalidArgument, match=text):
        solo.grouped_allreduce([np.ones(2)] * 3, name="g", **keywords)
    assert solo.stats()["in_flight"] == 0


@pytest.mark.parametrize("keywords, groups", [
    ({}, 1), ({"num_groups": 1}, 1), ({"num_groups": 3}, 3), ({"num_groups": 50}, 7),
    ({"groups": [[6, 0], [3, 1, 2], [5], [4]]}, 4),
])
@pytest.mark.parametrize("in_place", [False, True])
def test_results_come_in_the_order_of_the_tensors(keywords, groups, in_place):
    def body(engine):
        mine = [np.full(i + 1, engine.rank() + 10 * i, np.int64) for i in range(7)]
        call = engine.grouped_allreduce_async_ if in_place else engine.grouped_allreduce_async
        handle = call(mine, name="g", op=unisono.Sum, **keywords)
        names = repr(handle)
        results = handle.wait()
        for i, result in enumerate(results):
            assert result.tolist() == [3 + 30 * i] * (i + 1)
            assert not in_place or result is mine[i]
        return names

    for names in ranks.as_threads(3, body):
        if not keywords:
            assert "grouped_allreduce.g_1of7" in names
        else:
            found = {name.split("_")[1] for name in names.split() if "allreduce.g." in name}
            assert found == {f"allreduce.g.{number}" for number in range(groups)}, names


def test_groups_are_independent_and_each_is_whole():
    def body(engine):
        tensors = [np.ones(4) for _ in range(4)]
        if engine.rank() == 1:
            tensors[3] = np.ones(5)
        handle = engine.grouped_allreduce_async(tensors, name="g", op=unisono.Sum, num_groups=2)
        outcomes = []
        for ticket in handle._tickets:
            try:
                ticket.wait()
                outcomes.append("ok")
            except unisono.Mismatch:
                outcomes.append("mismatch")
        return outcomes

    assert ranks.as_threads(2, body) == [["ok", "ok", "mismatch", "mismatch"]] * 2


def test_unnamed_groups_need_no_names():
    def body(engine):
        for _ in range(3):
            for result in engine.grouped_allreduce([np.ones(2)] * 5, num_groups=2):
                assert result.tolist() == [1, 1]

    ranks.as_threads(2, body)
