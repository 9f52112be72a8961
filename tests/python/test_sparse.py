# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse collectives from Python: arrays, matrices of scipy.sparse, sparse tensors of torch."""

import numpy as np
import pytest

import unisono
from ranks import as_threads


def elements(rank: int, step: int, length: int) -> dict[int, float]:
    random = np.random.default_rng(1000 * step + rank)
    count = int(random.integers(0, 40)) if rank else 0
    return {int(index): float(random.integers(1, 9))
            for index in random.choice(length, count, replace=False)}


def summed(size: int, step: int, length: int) -> dict[int, float]:
    total: dict[int, float] = {}
    for rank in range(size):
        for index, value in elements(rank, step, length).items():
            total[index] = total.get(index, 0.0) + value
    return total


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("transport", ["auto", "tcp"])
def test_every_rank_gets_the_sum(size, transport):
    def body(engine):
        for step in range(12):
            mine = elements(engine.rank(), step, 500)
            indices, values = engine.sparse_allreduce(
                np.array(list(mine), np.int64), np.array(list(mine.values()), np.float32), 500,
                name="x", op=unisono.Sum)
            assert indices.dtype == np.int64 and values.dtype == np.float32
            assert np.all(np.diff(indices) > 0)
            got = {i: v for i, v in zip(indices.tolist(), values.tolist()) if v != 0}
            assert got == summed(size, step, 500)

    as_threads(size, body, transport=transport)


@pytest.mark.parametrize("algorithm", [
    "dense", "ssar_recursive_double", "ssar_split_allgather", "dsar_split_allgather",
    "sparse_ring", "identical", "hierarchical"])
def test_an_algorithm_can_be_named(algorithm):
    def body(engine):
        indices, values = engine.sparse_allreduce(
            [7, 3, 7], [1.0, 2.0, 4.0], 50, name="x", op=unisono.Sum, algorithm=algorithm)
        assert indices.tolist() == [3, 7]
        assert values.tolist() == [6.0, 15.0]

    as_threads(3, body)


def test_average_scale_and_other_operators():
    def body(engine):
        rank = engine.rank()
        at = np.array([1, 10 + rank], np.int32)
        indices, values = engine.sparse_allreduce(at, np.array([2.0, 4.0]), 5000, name="mean")
        assert dict(zip(indices.tolist(), values.tolist())) == {1: 2.0, 10: 2.0, 11: 2.0}
        indices, values = engine.sparse_allreduce(
            at, np.array([rank, 5], np.int64), 5000, name="least", op=unisono.Min)
        assert dict(zip(indices.tolist(), values.tolist())) == {1: 0, 10: 5, 11: 5}
        _, values = engine.sparse_allreduce(
            at[:1], np.ones(1), 5000, name="scaled", op=unisono.Sum, prescale_factor=2,
            postscale_factor=10)
        assert values.tolist() == [40.0]

    as_threads(2, body)


def test_several_at_once_beside_dense_ones():
    def body(engine):
        handles = [engine.sparse_allreduce_async(np.array([i]), np.array([1.0]), 100,
                                                 name=f"s{i}", op=unisono.Sum) for i in range(8)]
        dense = [engine.allreduce_async(np.ones(10), name=f"d{i}", op=unisono.Sum)
                 for i in range(8)]
        for i, handle in enumerate(handles):
            indices, values = handle.wait()
            assert (indices.tolist(), values.tolist()) == ([i], [3.0])
        for handle in dense:
            assert handle.wait().tolist() == [3.0] * 10

    as_threads(3, body)


def test_gathers_what_ranks_have_apart():
    def body(engine):
        rank = engine.rank()
        indices, values = engine.sparse_allgather(
            np.array([rank * 5]), np.array([rank + 1.0]), 100, name="x", refuse_overlap=True)
        assert indices.tolist() == [0, 5, 10]
        assert values.tolist() == [1.0, 2.0, 3.0]
        with pytest.raises(unisono.Mismatch, match="same index"):
            engine.sparse_allgather(np.array([4]), np.array([1.0]), 100, name="y",
                                    refuse_overlap=True)
        indices, values = engine.sparse_allgather(np.array([4]), np.array([1.0]), 100, name="y")
        assert (indices.tolist(), values.tolist()) == ([4], [3.0])

    as_threads(3, body)


def test_results_may_be_written_to_and_inputs_reused():
    def body(engine):
        at, what = np.array([2, 4]), np.array([1.0, 1.0])
        handle = engine.sparse_allreduce_async(at, what, 10_000, name="x", op=unisono.Sum)
        at[:], what[:] = -1, np.nan
        indices, values = handle.wait()
        values *= 3
        assert (indices.tolist(), values.tolist()) == ([2, 4], [6.0, 6.0])

    as_threads(2, body)


def test_lossy_only_where_it_is_allowed():
    def body(engine):
        at, what = np.arange(0, 100, 5), np.arange(20.0)
        with pytest.raises(unisono.InvalidArgument, match="allow_loss"):
            engine.sparse_allreduce(at, what, 1000, name="x", algorithm="oktopk")
        indices, _ = engine.sparse_allreduce(at, what, 1000, name="x", algorithm="oktopk",
                                             allow_loss=True, top_k=3)
        assert indices.tolist() == [85, 90, 95]

    as_threads(2, body)


def test_what_is_wrong_is_said_at_once():
    with unisono.Engine() as engine:
        for wrong, words in [
            (([9], [1.0], 9), "index 9"),
            (([-2], [1.0], 9), "index -2"),
            (([1, 2], [1.0], 9), "not as many indices as values"),
            (([[1]], [[1.0]], 9), "not as many indices as values"),
            (([1.5], [1.0], 9), "indices are float64"),
            (([1], None, None), "give indices, values and the length"),
            (([1], [1.0], -1), "length -1"),
        ]:
            with pytest.raises(unisono.InvalidArgument, match=words):
                engine.sparse_allreduce(*wrong, name="x")
        with pytest.raises(unisono.InvalidArgument, match="unknown algorithm"):
            engine.sparse_allreduce([1], [1.0], 9, name="x", algorithm="guesswork")


def test_ranks_that_differ_are_told():
    def body(engine):
        with pytest.raises(unisono.Mismatch, match=r"rank 1: \[8\]"):
            engine.sparse_allreduce([1], [1.0], 8 if engine.rank() else 9, name="x")

    as_threads(2, body)


def test_nothing_at_all():
    def body(engine):
        indices, values = engine.sparse_allreduce([], np.zeros(0, np.float32), 100, name="x")
        assert indices.shape == values.shape == (0,)
        assert values.dtype == np.float32
        indices, values = engine.sparse_allreduce([], [], 0, name="y")
        assert indices.shape == values.shape == (0,)

    as_threads(2, body)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_matrices_of_scipy(layout, kind):
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")

    def body(engine):
        make = getattr(sparse, f"{layout}_{kind}")
        random = np.random.default_rng(engine.rank())
        dense = random.integers(1, 9, (7, 11)) * (random.random((7, 11)) < 0.1) * 1.0
        total = engine.sparse_allreduce(make(dense), name="m", op=unisono.Sum)
        assert type(total) is make and total.shape == (7, 11)
        assert np.array_equal(total.toarray(),
                              engine.allreduce(dense, name="d", op=unisono.Sum))
        empty = engine.sparse_allreduce(make((3, 4)), name="e", op=unisono.Sum)
        assert empty.nnz == 0 and empty.shape == (3, 4)

    as_threads(3, body)


def test_vectors_of_scipy():
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")

    def body(engine):
        vector = sparse.coo_array(([2.0], ([4],)), shape=(9,))
        total = engine.sparse_allreduce(vector, name="v", op=unisono.Sum)
        assert total.toarray().tolist() == [0, 0, 0, 0, 4, 0, 0, 0, 0]
        with pytest.raises(unisono.InvalidArgument, match="leave them out"):
            engine.sparse_allreduce(vector, [1.0], 9, name="v")

    as_threads(2, body)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")

    def body(engine):
        torch.manual_seed(engine.rank())
        for layout in (torch.sparse_coo, torch.sparse_csr):
            dense = torch.randint(1, 9, (6, 9)).float() * (torch.rand(6, 9) < 0.15)
            mine = dense.to_sparse() if layout is torch.sparse_coo else dense.to_sparse_csr()
            total = engine.sparse_allreduce(mine, name="t", op=unisono.Sum)
            assert total.layout is layout and total.shape == dense.shape
            assert torch.equal(total.to_dense(),
                               engine.allreduce(dense, name="d", op=unisono.Sum))

    as_threads(3, body)


def test_hybrid_tensors_of_torch_stay_hybrid():
    torch = pytest.importorskip("torch", reason="torch is not installed")

    def body(engine):
        rank = engine.rank()
        rows = torch.tensor([[1, 4 + rank, 1]])
        values = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        mine = torch.sparse_coo_tensor(rows, values, (9, 2))
        total = engine.sparse_allreduce(mine, name="t", op=unisono.Sum)
        assert total.sparse_dim() == 1 and total.dense_dim() == 1
        assert total.indices().tolist() == [[1, 4, 5]]
        assert total.values().tolist() == [[12.0, 16.0], [3.0, 4.0], [3.0, 4.0]]
        with pytest.raises(unisono.InvalidArgument, match="hybrid"):
            engine.sparse_allreduce(mine, name="t", op=unisono.Max)

    as_threads(2, body)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int32", "bool"])
def test_element_types_of_torch(dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    kind = getattr(torch, dtype)

    def body(engine):
        indices, values = engine.sparse_allreduce(
            torch.tensor([3, 8]), torch.tensor([1, 1], dtype=kind), 100, name="t", op=unisono.Sum)
        assert indices.dtype is torch.int64 and values.dtype is kind
        assert indices.tolist() == [3, 8]
        assert values.tolist() == ([True] * 2 if dtype == "bool" else [2, 2])

    as_threads(2, body)


def test_the_default_engine_has_the_calls():
    unisono.init()
    try:
        assert unisono.sparse_allreduce([1], [2.0], 5)[1].tolist() == [2.0]
        assert unisono.sparse_allgather_async([1], [2.0], 5).wait()[0].tolist() == [1]
    finally:
        unisono.shutdown()
