# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""hvd.init() and init_process_group("unisono") in one program, in either order, on two ranks.
Argument: a store's file."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

import unisono
import unisono.torch as hvd
from checks import check, raises, run_all
from unisono.torch.backend.process_group import group_of

ME, SIZE = int(os.environ["UNISONO_RANK"]), int(os.environ["UNISONO_SIZE"])
numbers = iter(range(100))


def make_group():
    # A file for each group: whoever closes a FileStore last removes its file, also under a rank that
    # has just opened it for the next group.
    store = dist.FileStore(f"{sys.argv[1]}.{next(numbers)}", SIZE)
    dist.init_process_group("unisono", store=store, rank=ME, world_size=SIZE,
                            timeout=timedelta(seconds=50))


def both_work():
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [SIZE] * 3
    horovods_works()


def horovods_works():
    assert (hvd.rank(), hvd.size()) == (ME, SIZE)
    assert hvd.allreduce(torch.ones(3), op=hvd.Sum, name="x").tolist() == [SIZE] * 3


@check
def init_after_the_group_takes_its_engine():
    make_group()
    for _ in range(2):
        hvd.init()
        assert hvd.is_initialized() and unisono.default.engine() is group_of().engine
        both_work()
    unisono.init()
    net = torch.nn.Linear(3, 1)
    hvd.broadcast_parameters(net.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters())
    net(torch.ones(2, 3) * ME).sum().backward()
    optimizer.step()
    hvd.check_consistent(net)


@check
def what_init_was_given_outlives_the_group():
    if not dist.is_initialized():
        make_group()
        hvd.init()
    dist.barrier()
    dist.destroy_process_group()
    assert hvd.is_initialized(), "init() was called, and shutdown() not"
    horovods_works()
    hvd.shutdown()
    assert not hvd.is_initialized()


@check
def process_sets_of_a_late_init_are_registered():
    make_group()
    one, alone = hvd.ProcessSet(0), hvd.ProcessSet(1)
    hvd.init(process_sets=[one, alone])
    assert one.size() == 1 and one.included() == (ME == 0)
    mine = one if ME == 0 else alone
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=mine).item() == 1
    hvd.shutdown()
    dist.destroy_process_group()


@check
def options_that_the_group_does_not_have_are_refused():
    make_group()
    raises(unisono.Error, lambda: hvd.init(fusion_bytes=12345), "fusion_bytes", "12345", "shutdown")
    raises(unisono.Error, lambda: hvd.init(stall_limit_s=7), "stall_limit_s")
    both_work()
    dist.destroy_process_group()
    assert not hvd.is_initialized(), "nobody has called init()"


@check
def config_counts_for_groups_too():
    unisono.config(buffer_bytes=1 << 20)
    make_group()
    assert group_of().engine.options().get("fusion_bytes") == str(1 << 20)
    hvd.init()
    both_work()
    hvd.shutdown()
    dist.destroy_process_group()


@check
def init_before_the_group():
    hvd.init()
    make_group()
    hvd.init()
    assert unisono.default.engine() is group_of().engine
    both_work()
    dist.destroy_process_group()
    horovods_works()
    hvd.shutdown()


@check
def init_after_a_group_that_has_ended():
    make_group()
    dist.barrier()
    dist.destroy_process_group()
    hvd.init()
    horovods_works()


@check
def the_engine_ends_with_the_process():
    """Left as they are: the job must end well."""
    hvd.shutdown()
    make_group()
    hvd.init()
    both_work()


run_all()
