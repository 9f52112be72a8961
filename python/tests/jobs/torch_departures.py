# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that stay away, raise or end while others count on them, and ranks that just end."""

import os
import sys
import time

import torch
import torch._dynamo  # noqa: F401: optimizers would import it, in every rank for seconds
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import unisono
import unisono.torch as hvd
from checks import raises
from forked import OnPurpose, run_scenarios

SIZE, CULPRIT = 3, 1
scenarios = []


def check(scenario):
    scenarios.append(scenario)
    return scenario


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64))


def optimizer_of(net, **arguments):
    return hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                    net.named_parameters(), **arguments)


def join_group(rank, folder):
    dist.init_process_group("unisono", store=dist.FileStore(f"{folder}/store", SIZE), rank=rank,
                            world_size=SIZE)


def ddp():
    # A bucket for every parameter or two: some are under way when the last one is computed.
    return DistributedDataParallel(model(), bucket_cap_mb=0.001)


def names(error, rank, *texts):
    """The message says who and what it was about."""
    for text in (f"rank {rank}", *texts):
        assert text in str(error), f"{text!r} is not in {error}"


def raise_in_backward(parameter):
    def fail(gradient):
        raise OnPurpose("in backward")

    parameter.register_hook(fail)


@check
def a_tensor_that_one_rank_never_submits(rank, folder):
    hvd.init(stall_limit_s=0.5, log="error")
    if rank != CULPRIT:
        error = raises(unisono.Stalled, lambda: hvd.allreduce(torch.ones(2), name="forgotten"))
        names(error, CULPRIT, "forgotten")
        assert error.rank == CULPRIT and error.tensor == "forgotten"
    hvd.barrier()
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum, name="next").item() == SIZE


@check
def a_tensor_that_one_rank_submits_too_late(rank, folder):
    hvd.init(stall_limit_s=0.5, log="error")
    if rank == CULPRIT:
        time.sleep(1.2)
    error = raises(unisono.Stalled, lambda: hvd.allreduce(torch.ones(2), name="late"))
    assert "late" in str(error) and error.tensor == "late"
    hvd.barrier()
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum, name="late").item() == SIZE


@check
def a_step_that_one_rank_leaves_out(rank, folder):
    hvd.init(stall_limit_s=0.5, log="error")
    net = model()
    optimizer = optimizer_of(net)
    net(torch.ones(4, 64)).sum().backward()
    optimizer.step()
    if rank != CULPRIT:
        optimizer.zero_grad()
        net(torch.ones(4, 64)).sum().backward()
        names(raises(unisono.Stalled, optimizer.step), CULPRIT, "set to None")
        assert all(p.grad is None for p in net.parameters())
    hvd.barrier()


def raises_in_backward(rank, arena):
    hvd.init(log="error")
    net = model()
    optimizer = optimizer_of(net, gradients_in_arena=arena, bucket_bytes=4096)
    assert bool(optimizer.gradients_in_arena) == arena
    for step in range(3):
        optimizer.zero_grad()
        output = net(torch.ones(4, 64)).sum()
        if step == 2:
            break
        output.backward()
        optimizer.step()
    if rank == CULPRIT:
        raise_in_backward(net[0].weight)
        output.backward()

    def last_step():
        output.backward()
        optimizer.step()

    names(raises((unisono.PeerLeft, unisono.PeerLost), last_step), CULPRIT, "set to None")


@check
def one_rank_raises_in_backward(rank, folder):
    raises_in_backward(rank, True)


@check
def one_rank_raises_in_backward_without_arena(rank, folder):
    raises_in_backward(rank, False)


@check
def one_rank_raises_in_backward_of_ddp(rank, folder):
    os.environ["UNISONO_LOG"] = "error"
    join_group(rank, folder)
    net = ddp()
    for _ in range(2):
        net(torch.ones(4, 64)).sum().backward()
    if rank == CULPRIT:
        raise_in_backward(net.module[0].weight)
        net(torch.ones(4, 64)).sum().backward()

    def train():
        # The buckets that were complete before the fault may still be exchanged.
        for _ in range(3):
            net(torch.ones(4, 64)).sum().backward()

    names(raises(RuntimeError, train), CULPRIT)


@check
def one_rank_exits_early(rank, folder):
    hvd.init(log="error")
    for number in range(3):
        hvd.allreduce(torch.ones(8), name=f"round.{number}")
    if rank == CULPRIT:
        sys.exit(0)
    error = raises((unisono.PeerLeft, unisono.PeerLost),
                   lambda: hvd.allreduce(torch.ones(8), name="round.3"))
    names(error, CULPRIT, "round.3")
    assert error.rank == CULPRIT
    names(raises(unisono.Error, lambda: hvd.allreduce(torch.ones(8), name="again")), CULPRIT)


@check
def one_rank_exits_early_from_training(rank, folder):
    hvd.init(log="error")
    net = model()
    optimizer = optimizer_of(net)
    net(torch.ones(4, 64)).sum().backward()
    if rank == CULPRIT:
        sys.exit(0)  # with gradients under way
    names(raises((unisono.PeerLeft, unisono.PeerLost), optimizer.step), CULPRIT)


@check
def one_rank_exits_early_from_ddp(rank, folder):
    os.environ["UNISONO_LOG"] = "error"
    join_group(rank, folder)
    net = ddp()
    net(torch.ones(4, 64)).sum().backward()
    if rank == CULPRIT:
        sys.exit(0)
    names(raises(RuntimeError, lambda: net(torch.ones(4, 64)).sum().backward()), CULPRIT)


@check
def ends_after_init(rank, folder):
    hvd.init()


@check
def ends_with_an_optimizer_in_the_arena(rank, folder):
    hvd.init()
    net = model()
    optimizer = optimizer_of(net)
    net(torch.ones(4, 64)).sum().backward()
    optimizer.step()
    assert optimizer.gradients_in_arena
    globals()["kept until the end"] = optimizer


@check
def ends_with_gradients_under_way(rank, folder):
    hvd.init()
    net = model()
    optimizer = optimizer_of(net)
    net(torch.ones(4, 64)).sum().backward()
    globals()["kept until the end"] = optimizer


@check
def ends_with_handles_that_nobody_waited_for(rank, folder):
    hvd.init()
    globals()["kept until the end"] = hvd.allreduce_async_(torch.ones(1000), name="kept")
    hvd.allreduce_async(torch.ones(1000), name="dropped")
    hvd.allreduce_async(torch.ones(1000), name=f"only here: {rank}")


@check
def ends_with_a_process_group(rank, folder):
    join_group(rank, folder)
    dist.all_reduce(torch.ones(3))


@check
def ends_with_ddp(rank, folder):
    join_group(rank, folder)
    net = ddp()
    net(torch.ones(4, 64)).sum().backward()
    globals()["kept until the end"] = net, dist.all_reduce(torch.ones(3), async_op=True)


scenario_of_this_process = run_scenarios(scenarios, SIZE)
scenario_of_this_process()
