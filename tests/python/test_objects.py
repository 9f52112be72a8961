# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Objects that some rank cannot pickle or unpickle: every rank fails, and with the reason."""

import pickle
import sys
import threading
import types

import numpy as np
import pytest
from ranks import as_threads

import unisono
from unisono import objects

LOCK = threading.Lock()  # cannot be pickled, with cloudpickle or without
here = threading.local()


def load_but_on(ranks):
    if here.rank in ranks:
        raise ImportError(f"no module named vanished on rank {here.rank}")
    return "loaded"


class LoadsButOn:
    """Can be pickled everywhere, and unpickled but on some ranks."""

    def __init__(self, *ranks):
        self.ranks = ranks

    def __reduce__(self):
        return load_but_on, (self.ranks,)


def on_ranks(size, body):
    def rank_main(engine):
        here.rank = engine.rank()
        result = body(engine)
        total = engine.allreduce(np.ones(3), op=unisono.Sum, name="the job goes on")
        assert total.tolist() == [size] * 3
        return result

    return as_threads(size, rank_main)


def failure(call, *texts):
    with pytest.raises(unisono.PickleFailed) as caught:
        call()
    for text in texts:
        assert text in str(caught.value), caught.value
    error = caught.value
    assert isinstance(error, pickle.PickleError) and isinstance(error, RuntimeError)
    assert not error.retryable, "the same object would fail again"
    return error


@pytest.mark.parametrize("root", [0, 2])
def test_broadcast_of_what_cannot_be_pickled(root):
    def body(engine):
        error = failure(lambda: engine.broadcast_object({"lock": LOCK}, root, name="settings"),
                        'broadcast_object "settings"', f"rank {root} cannot pickle", "TypeError",
                        "lock")
        assert error.rank == root
        assert (error.__cause__ is not None) == (engine.rank() == root)
        assert engine.broadcast_object(engine.rank(), root, name="settings") == root

    on_ranks(3, body)


def test_allgather_of_what_cannot_be_pickled():
    def body(engine):
        for bad in ([1], [0, 2], [0, 1, 2]):
            mine = LOCK if engine.rank() in bad else "x" * engine.rank()
            error = failure(lambda: engine.allgather_object(mine, name="losses"),
                            'allgather_object "losses"', "TypeError",
                            *(f"rank {rank} cannot pickle" for rank in bad))
            assert error.rank == bad[0]
        assert engine.allgather_object("x" * engine.rank(), name="losses") == ["", "x", "xx"]

    on_ranks(3, body)


def test_what_raises_anything_while_it_is_pickled():
    class Odd:
        def __reduce__(self):
            raise ZeroDivisionError("ü" * 10_000)

    def body(engine):
        error = failure(lambda: engine.broadcast_object(Odd()), "ZeroDivisionError: üüü")
        assert len(str(error)) < 4000

    on_ranks(2, body)


@pytest.mark.parametrize("bad", [[1], [1, 2]])
def test_broadcast_of_what_some_ranks_cannot_unpickle(bad):
    def body(engine):
        error = failure(lambda: engine.broadcast_object(LoadsButOn(*bad)),
                        *(f"rank {rank} cannot unpickle the object of rank 0: ImportError: no "
                          f"module named vanished on rank {rank}" for rank in bad), "importable")
        assert error.rank == bad[0]
        assert (error.__cause__ is not None) == (engine.rank() in bad)
        assert engine.broadcast_object(LoadsButOn(), 1) == "loaded" or engine.rank() == 1

    on_ranks(3, body)


def test_allgather_of_what_one_rank_cannot_unpickle():
    def body(engine):
        mine = LoadsButOn(2) if engine.rank() == 1 else None
        failure(lambda: engine.allgather_object(mine),
                "rank 2 cannot unpickle the object of rank 1: ImportError")

    on_ranks(3, body)


@pytest.mark.parametrize("cut", [0, 5, -1])
def test_pickles_that_are_cut_short(monkeypatch, cut):
    monkeypatch.setattr(objects, "_dumps", lambda obj: pickle.dumps(obj)[:cut])

    def body(engine):
        failure(lambda: engine.broadcast_object([1, 2, 3]), "rank 1 cannot unpickle")
        failure(lambda: engine.allgather_object([1, 2, 3]), "rank 0 cannot unpickle",
                "rank 1 cannot unpickle")

    on_ranks(2, body)


def test_ranks_of_a_set_are_named_as_in_the_job():
    def body(engine):
        some = engine.add_process_set([1, 2])
        if engine.rank() in (1, 2):
            for call in (lambda: engine.broadcast_object(LOCK, 2, process_set=some),
                         lambda: engine.allgather_object(LOCK if engine.rank() == 2 else 1,
                                                         process_set=some)):
                assert failure(call, "rank 2 cannot pickle").rank == 2
            assert engine.allgather_object(engine.rank(), process_set=some) == [1, 2]

    on_ranks(3, body)


def test_alone(solo):
    here.rank = 0
    failure(lambda: solo.broadcast_object(LOCK), "rank 0 cannot pickle")
    failure(lambda: solo.allgather_object(LoadsButOn(0)), "rank 0 cannot unpickle")
    assert solo.allgather_object(LoadsButOn()) == ["loaded"]


def test_cloudpickle_is_used_where_it_is_installed(monkeypatch, solo):
    calls = []
    stand_in = types.ModuleType("cloudpickle")
    stand_in.dumps = lambda obj: calls.append(obj) or pickle.dumps(obj)
    monkeypatch.setitem(sys.modules, "cloudpickle", stand_in)
    assert solo.allgather_object(1) == [1] and solo.broadcast_object(2) == 2
    assert calls == [1, 2]
    assert "cloudpickle" not in str(failure(lambda: solo.broadcast_object(LOCK)))


def test_without_cloudpickle_functions_of_the_moment_are_refused(monkeypatch, solo):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert solo.allgather_object([1]) == [[1]]
    failure(lambda: solo.allgather_object(lambda: 1), "install cloudpickle")


def test_cloudpickle_carries_functions_of_the_moment(solo):
    pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    gift = 41
    received, = solo.allgather_object(lambda: gift + 1)
    assert received() == 42
