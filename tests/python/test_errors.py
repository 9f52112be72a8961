# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Faults become typed exceptions on every rank that waits."""

import threading
import time

import numpy as np
import pytest

import ranks
import unisono


def test_classes():
    assert issubclass(unisono.Error, RuntimeError)
    assert unisono.HorovodInternalError is unisono.Error
    assert issubclass(unisono.Timeout, TimeoutError) and issubclass(unisono.Timeout, unisono.Error)
    for mistake in (unisono.InvalidArgument, unisono.DuplicateName):
        assert issubclass(mistake, ValueError) and not issubclass(mistake, unisono.Error)
    for fault in (unisono.PeerLost, unisono.PeerLeft, unisono.Mismatch, unisono.Stalled,
                  unisono.ShutDown, unisono.NotInitialized, unisono.Forked, unisono.Refused,
                  unisono.Unavailable, unisono.Corrupted):
        assert issubclass(fault, unisono.Error)
    assert issubclass(unisono.NotInitialized, ValueError), "what programs for Horovod catch"


def caught(kind, call):
    with pytest.raises(kind) as info:
        call()
    return info.value


@pytest.mark.parametrize("first, second, text", [
    (np.ones(3, np.float32), np.ones(4, np.float32), "Mismatched ALLREDUCE tensor shapes"),
    (np.ones(3, np.float32), np.ones(3, np.float64), "Mismatched data types"),
])
def test_mismatch_reaches_every_rank_and_the_job_goes_on(first, second, text):
    def body(engine):
        mine = first if engine.rank() == 0 else second
        error = caught(unisono.Mismatch, lambda: engine.allreduce(mine, name="x"))
        assert text in str(error) and not error.retryable
        return engine.allreduce(np.array(1), op=unisono.Sum, name="next")

    assert ranks.as_threads(2, body) == [2, 2]


def test_mismatched_operator_scale_and_root():
    def body(engine):
        me = engine.rank()
        op = unisono.Sum if me else unisono.Max
        caught(unisono.Mismatch, lambda: engine.allreduce(1.0, name="op", op=op))
        caught(unisono.Mismatch, lambda: engine.allreduce(1.0, name="pre", prescale_factor=1 + me))
        caught(unisono.Mismatch, lambda: engine.broadcast(1.0, me, name="root"))

    ranks.as_threads(2, body)


def test_duplicate_name_is_raised_by_the_call_itself():
    def body(engine):
        if engine.rank() == 0:
            handle = engine.allreduce_async(np.ones(4), name="twice")
            error = caught(unisono.DuplicateName,
                           lambda: engine.allreduce_async(np.ones(4), name="twice"))
            assert "twice" in str(error)
            engine.barrier()
        else:
            engine.barrier()
            handle = engine.allreduce_async(np.ones(4), name="twice")
        return handle.wait().tolist()

    assert ranks.as_threads(2, body) == [[1.0] * 4] * 2


@pytest.mark.parametrize("call", [
    lambda engine: engine.broadcast_async(1.0, 7),
    lambda engine: engine.alltoall_async(np.ones(4), [1, 2]),
    lambda engine: engine.alltoall_async(np.ones(4), [-1, 5]),
    lambda engine: engine.allreduce_async(1.0, process_set=99),
    lambda engine: engine.allgather_async(1.0),
])
def test_bad_arguments_are_value_errors_of_the_call_itself(call):
    def body(engine):
        caught(ValueError, lambda: call(engine))

    ranks.as_threads(2, body)


def test_timeout_leaves_the_operation_in_flight():
    timed_out = threading.Event()

    def body(engine):
        if engine.rank() == 1:
            assert timed_out.wait(ranks.TIMEOUT_S)
        handle = engine.allreduce_async(np.ones(2), name="late", op=unisono.Sum)
        if engine.rank() == 0:
            error = caught(unisono.Timeout, lambda: engine.synchronize(handle, timeout=0.2))
            assert isinstance(error, TimeoutError) and not engine.poll(handle)
            timed_out.set()
        return engine.synchronize(handle, timeout=300).tolist()

    assert ranks.as_threads(2, body) == [[2, 2]] * 2


def test_poll_turns_true():
    def body(engine):
        handle = engine.allreduce_async(np.ones(2), name="polled")
        while not engine.poll(handle):
            time.sleep(0.001)
        return handle.wait().tolist()

    assert ranks.as_threads(2, body) == [[1, 1]] * 2


def test_use_after_shutdown(solo):
    solo.shutdown()
    caught(unisono.ShutDown, lambda: solo.allreduce(1.0))
    solo.shutdown()


def test_pending_work_ends_at_shutdown():
    def body(engine):
        if engine.rank() == 0:
            handle = engine.allreduce_async(np.ones(2), name="never")
            engine.shutdown()
            caught(unisono.ShutDown, handle.wait)
        else:
            handle = engine.allreduce_async(np.ones(2), name="other")
            caught(unisono.Error, handle.wait)

    ranks.as_threads(2, body)


def test_waiting_releases_the_gil():
    def body(engine):
        if engine.rank() == 1:
            time.sleep(0.1)                   # rank 0 waits by now, and would hold the lock for ever
            assert sum(range(1000)) == 499500
        return float(engine.allreduce(1.0, name="gil"))

    assert ranks.as_threads(2, body) == [1.0, 1.0]


def test_many_threads_submit_to_one_engine(solo):
    def work(thread):
        for i in range(50):
            assert solo.allreduce(float(i), name=f"{thread}.{i}") == i

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
