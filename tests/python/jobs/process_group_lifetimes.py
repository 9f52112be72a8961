# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Groups on backend unisono: how they begin, what they do when ranks differ, and how they end. On
three ranks. Argument: a store's file."""

import time
from datetime import timedelta

import torch
import torch.distributed as dist

import unisono
from checks import check, raises, run_all
from process_group_support import RANK, SIZE, everyone, mine, monitored_barrier, same, start
from unisono.torch.backend.process_group import group_of


@check
def sub_groups():
    pair, rest, all_again = dist.new_group([0, 1]), dist.new_group([2]), dist.new_group()
    tensor = mine(4)
    if RANK < 2:
        dist.all_reduce(tensor, group=pair)
        same(tensor, sum(everyone(4)[:2]))
        dist.broadcast(tensor, 1, group=pair)
    else:
        dist.all_reduce(tensor, group=rest)
        same(tensor, mine(4))
    tensor = mine(4)
    dist.all_reduce(tensor, group=all_again)
    same(tensor, sum(everyone(4)))
    ends = dist.new_group([2, 0], timeout=timedelta(seconds=30))
    if RANK != 1:
        got = [None, None]
        dist.all_gather_object(got, RANK, group=ends)
        assert sorted(got) == [0, 2]
        dist.destroy_process_group(ends)


@check
def differing_calls_are_an_error_on_every_rank():
    # Far away: what ends with a mismatch ended at once.
    group = dist.new_group(timeout=timedelta(seconds=600))
    def call():
        if RANK == 0:
            dist.broadcast(mine(4), 0, group=group)
        else:
            dist.all_reduce(mine(4), group=group)
    raises(unisono.Mismatch, call, "Mismatched operations")
    raises(unisono.Mismatch, lambda: dist.all_reduce(mine(3 + RANK), group=group),
           "tensor shapes")
    dtype = torch.float32 if RANK else torch.float64
    future = dist.all_reduce(mine(3, dtype=dtype), group=group, async_op=True).get_future()
    raises(RuntimeError, future.wait, "Mismatched data types")
    tensor = mine(3)
    dist.all_reduce(tensor, group=group)
    same(tensor, sum(everyone(3)))


@check
def a_missing_rank_is_named_within_the_timeout():
    group = dist.new_group(timeout=timedelta(seconds=2))
    dist.barrier()
    if RANK != 1:
        error = raises(unisono.Error, lambda: dist.all_reduce(mine(3), group=group))
        assert "1" in str(error), error
    dist.barrier()
    work = dist.all_reduce(mine(3), async_op=True) if RANK == 0 else None
    if RANK == 0:
        raises(unisono.Timeout, lambda: work.wait(timedelta(milliseconds=200)), "all_reduce")
    else:
        time.sleep(0.5)
        work = dist.all_reduce(mine(3), async_op=True)
    work.wait()


@check
def barriers_leave_nothing_in_the_store():
    store = group_of()._store
    monitored_barrier(timeout=timedelta(seconds=30))
    dist.barrier()
    before = store.num_keys()
    dist.barrier()
    for _ in range(5):
        monitored_barrier(timeout=timedelta(seconds=30))
    dist.barrier()
    assert store.num_keys() <= before, f"{store.num_keys()} keys, {before} before"
    dist.barrier()


@check
def monitored_barrier_names_who_is_missing():
    barrier = monitored_barrier
    barrier(timeout=timedelta(seconds=30))
    if RANK != 2:
        raises(RuntimeError, lambda: barrier(timeout=timedelta(seconds=1)), "2")
    else:
        time.sleep(1.5)
    dist.barrier()


@check
def callers_mistakes_are_value_errors():
    sparse = torch.eye(3).to_sparse()
    # torch's dispatcher refuses it before unisono is asked, where it stands in between.
    raises((ValueError, RuntimeError), lambda: dist.broadcast(sparse, 0))
    raises(ValueError, lambda: dist.all_gather([torch.zeros(1)], torch.zeros(1)), "outputs")
    double = [torch.zeros(1, dtype=torch.float64) for _ in range(SIZE)]
    raises(ValueError, lambda: dist.group.WORLD.alltoall(double, [torch.zeros(1)] * SIZE), "types")
    dist.barrier()


@check
def no_group_outlives_its_end():
    dist.barrier()
    dist.destroy_process_group()
    assert not dist.is_initialized() and not unisono.is_initialized()
    start()
    tensor = mine(3)
    dist.all_reduce(tensor)
    same(tensor, sum(everyone(3)))
    dist.destroy_process_group()


@check
def engine_of_init_is_used_when_it_is_there():
    if dist.is_initialized():
        dist.destroy_process_group()
    unisono.init()
    engine = unisono.default.engine()
    start()
    assert group_of().engine is engine
    dist.barrier()
    dist.destroy_process_group()
    assert unisono.is_initialized()
    same(unisono.allreduce(mine(3), op=unisono.Sum, name="after"), sum(everyone(3)))
    unisono.shutdown()
    start()
    dist.barrier()


start()
run_all()
