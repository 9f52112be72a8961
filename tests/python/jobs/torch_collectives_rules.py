# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What the calls of unisono.torch hold to on several ranks: mistakes, process sets, join, threads,
the end of a job and the next."""

import os
import tempfile
import threading
import time

import torch

import unisono
import unisono.torch as hvd
from checks import check, raises, run_all
from torch_support import ME, same


@check
def mistakes_are_value_errors_of_the_call_itself():
    x = torch.ones(4)
    if ME == 0:
        handle = hvd.allreduce_async(x, name="twice", op=hvd.Sum)
        raises(ValueError, lambda: hvd.allreduce_async(x, name="twice", op=hvd.Sum), "twice")
    hvd.barrier()  # passes although "twice" is pending on rank 0
    if ME != 0:
        handle = hvd.allreduce_async(x, name="twice", op=hvd.Sum)
    same(hvd.synchronize(handle), 3)
    for call in (lambda: hvd.broadcast_async(x, 7), lambda: hvd.broadcast_async_(x, -1),
                 lambda: hvd.alltoall_async(x, [1, 2]), lambda: hvd.alltoall_async(x, [1, 2, 3]),
                 lambda: hvd.alltoall_async(x, [-1, 4, 1]), lambda: hvd.alltoall_async(x),
                 lambda: hvd.alltoall_async(x, torch.tensor([1.0, 1.0, 2.0])),
                 lambda: hvd.alltoall(x.requires_grad_()), lambda: hvd.alltoall(x, 3),
                 lambda: hvd.allreduce_async(x, process_set=99),
                 lambda: hvd.allgather_async(x, process_set=hvd.ProcessSet(0))):
        raises(ValueError, call)
    same(hvd.allreduce(torch.ones(1), name="the job goes on"), 1)


@check
def disagreement_is_a_runtime_error_on_every_rank():
    def disagree(call, sentence):
        error = raises(RuntimeError, lambda: hvd.synchronize(call()))
        assert str(error).startswith(sentence), str(error)
        assert isinstance(error, unisono.Mismatch) and not error.retryable
        assert isinstance(error, hvd.HorovodInternalError)

    disagree(lambda: hvd.allreduce_async(torch.ones(3 + (ME == 1)), name="m"),
             "Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of shape [3], but another "
             "rank sent a tensor of shape [4].")
    kind = torch.float64 if ME == 2 else torch.float32
    disagree(lambda: hvd.allreduce_async(torch.ones(3, dtype=kind), name="m"),
             "Mismatched data types: One rank had type float32, but another rank had type float64.")
    disagree(lambda: hvd.broadcast_async(torch.ones(3), root_rank=min(ME, 1), name="m"),
             "Mismatched BROADCAST root ranks: One rank specified root rank 0, but another rank "
             "specified root rank 1.")
    disagree(lambda: hvd.allreduce_async(torch.ones(3), name="m", prescale_factor=1.0 + (ME == 1)),
             "Mismatched prescale and/or postscale factors: One rank sent factors (1, 1), but "
             "another rank sent factors (2, 1).")
    disagree(lambda: hvd.allgather_async(torch.ones(3, 2 + (ME == 1)), name="m"),
             "Mismatched ALLGATHER tensor shapes: One rank sent a tensor of shape ")
    disagree(lambda: hvd.allreduce_async(torch.ones(3), name="m", op=hvd.Max if ME else hvd.Min),
             "Mismatched ALLREDUCE ")
    same(hvd.allreduce(torch.ones(1), name="after"), 1)


@check
def process_sets_are_worlds_of_their_own():
    edges, first = hvd.add_process_set([0, 2]), hvd.add_process_set(hvd.ProcessSet(0, 1))
    assert edges.size() == 2 and edges.included() == (ME != 1)
    if edges.included():
        assert edges.rank() == ME // 2
        for _ in range(2):  # unnamed calls count by set, so rank 1 misses nothing
            same(hvd.allreduce(torch.tensor([ME]), op=hvd.Sum, process_set=edges), 2)
        same(hvd.allreduce(torch.tensor([2.0 * ME]), process_set=edges, name="m"), 2)
        same(hvd.broadcast(torch.tensor([ME]), 2, process_set=edges), 2)
        same(hvd.allgather(torch.tensor([ME]), process_set=edges), [0, 2])
        received, counts = hvd.alltoall(torch.arange(3) + ME, [1, 2], process_set=edges)
        same(counts, [1, 1] if ME == 0 else [2, 2])
        same(hvd.reducescatter(torch.arange(3), op=hvd.Sum, process_set=edges),
             [0, 2] if ME == 0 else [4])
        hvd.barrier(process_set=edges)
        raises(ValueError, lambda: hvd.broadcast_async(torch.ones(1), 1, process_set=edges))
    else:
        raises(ValueError, lambda: hvd.allreduce_async(torch.ones(1), process_set=edges))
        raises(ValueError, edges.rank)
    if first.included():
        same(hvd.allreduce(torch.tensor([ME]), op=hvd.Sum, process_set=first), 1)
    assert hvd.remove_process_set(first) and not hvd.remove_process_set(first)
    assert first.process_set_id is None and not hvd.remove_process_set(hvd.global_process_set)
    raises(ValueError, lambda: hvd.allreduce(torch.ones(1), process_set=first))
    same(hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=hvd.global_process_set), 3)
    assert hvd.add_process_set(first).process_set_id is not None
    assert hvd.remove_process_set(first) and hvd.remove_process_set(edges)


@check
def process_sets_do_not_wait_for_each_other():
    """What one set lacks holds up neither another set nor the job."""
    edges, first = hvd.add_process_set([0, 2]), hvd.add_process_set([0, 1])
    if ME == 0:
        waits = hvd.allreduce_async(torch.ones(2), name="late", op=hvd.Sum, process_set=edges)
    for number in range(3):
        if ME < 2:
            same(hvd.allreduce(torch.ones(2), name=f"soon.{number}", op=hvd.Sum,
                               process_set=first), 2)
        same(hvd.allreduce(torch.ones(2), name=f"all.{number}", op=hvd.Sum), 3)
    if ME == 0:
        assert not hvd.poll(waits)
    hvd.barrier()
    if ME == 2:
        waits = hvd.allreduce_async(torch.ones(2), name="late", op=hvd.Sum, process_set=edges)
    if ME != 1:
        same(hvd.synchronize(waits), 2)
    hvd.remove_process_set(first), hvd.remove_process_set(edges)


@check
def join_truncates_integers():
    """Two of three ranks give 5 and 4: 9 / 3, 5 / 3 and -5 / 3, each towards zero."""
    if ME != 2:
        same(hvd.allreduce(torch.tensor([5 - ME, 5 if ME == 0 else 0, -5 if ME == 0 else 0]),
                           name="whole numbers"), [3, 1, -1])
    hvd.join()


@check
def join_with_uneven_steps():
    for step in range(ME + 1):
        result = hvd.allreduce(torch.full((2,), 6), name=f"step.{step}")
        # Those who have joined give nothing, and the average still divides by all ranks.
        same(result, 2 * (3 - step))
        hvd.allreduce_(torch.ones(2), name=f"also.{step}", op=hvd.Sum)
    time.sleep(0.2 * ME)
    assert hvd.join(ME) == 2
    assert hvd.join() in (0, 1, 2)


@check
def join_does_not_go_with_gathering():
    if ME == 0:
        hvd.join()
    else:
        raises(RuntimeError, lambda: hvd.allgather(torch.ones(2), name="no"))
        raises(RuntimeError, lambda: hvd.broadcast(torch.ones(2), 1, name="no"))
        hvd.join()
    same(hvd.allreduce(torch.ones(1), op=hvd.Sum, name="after"), 3)


@check
def several_threads_submit():
    def work(thread):
        for i in range(30):
            same(hvd.allreduce(torch.full((4,), float(ME)), name=f"t{thread}.{i}", op=hvd.Sum), 3)
        done.append(thread)

    done = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 1, 2, 3]


@check
def a_timeline_is_written_while_it_is_asked_for():
    path = os.path.join(tempfile.mkdtemp(), "timeline.json")
    hvd.start_timeline(path, mark_cycles=True)
    hvd.allreduce(torch.ones(10), name="traced")
    hvd.barrier()
    hvd.stop_timeline()
    if ME == 0:
        assert "traced" in open(path).read()


@check
def shut_down_with_abandoned_handles_and_begin_again():
    for i in range(5):
        hvd.allreduce_async_(torch.ones(3), name=f"abandoned.{i}.{ME}")
    hvd.shutdown()
    assert not hvd.is_initialized()
    os.environ["HOROVOD_FUSION_THRESHOLD"] = "4096"
    pair = hvd.ProcessSet([0, 1])
    for _ in range(2):  # the set may be given again
        hvd.init(process_sets=[pair])
        assert unisono.default.engine().options().get("fusion_bytes") == "4096"
        assert pair.included() == (ME < 2)
        same(hvd.allreduce(torch.ones(2), op=hvd.Sum), 3)
        if pair.included():
            same(hvd.allreduce(torch.ones(2), op=hvd.Sum, process_set=pair), 2)
        hvd.shutdown()
        assert pair.process_set_id is None
    hvd.init(process_sets="dynamic")
    same(hvd.allreduce(torch.ones(2), op=hvd.Sum), 3)


run_all()
