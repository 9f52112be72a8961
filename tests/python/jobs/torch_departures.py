# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that stay away, raise or end while others count on them, and ranks that just end."""

import os
import pathlib
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

CULPRIT = 1
GONE = (unisono.PeerLeft, unisono.PeerLost)
LEFT = ("PeerLeft: ", "Let all ranks run the same number of operations")
scenarios = []


def check(scenario):
    """Two ranks show how a rank ends; three, that all others hear of it."""
    scenarios.append((2 if scenario.__name__.startswith("ends_") else 3, scenario))
    return scenario


def meet(rank, folder, count):
    """Waits for so many ranks by other means than a collective, which would fail as well."""
    pathlib.Path(folder, f"{rank} is there").touch()
    while len(list(pathlib.Path(folder).glob("* is there"))) < count:
        time.sleep(0.02)


def survivor_done(rank, folder, count=2):
    """A survivor leaves after the others have heard of the culprit, or they would hear of it
    instead. The interpreter's own way out, which takes a second, is for the culprit."""
    meet(rank, folder, count)
    os._exit(0)


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64))


def optimizer_of(net, **arguments):
    return hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                    net.named_parameters(), **arguments)


def join_group(rank, folder):
    size = int(os.environ["UNISONO_SIZE"])
    dist.init_process_group("unisono", store=dist.FileStore(f"{folder}/store", size), rank=rank,
                            world_size=size)


def ddp():
    # A bucket for every parameter or two: some are under way when the last one is computed.
    return DistributedDataParallel(model(), bucket_cap_mb=0.001)


def names(error, rank, *texts):
    """The message says who and what it was about. Out of torch's own threads an error comes as a
    RuntimeError that quotes it."""
    message = f"{type(error).__name__}: {error}"
    for text in (f"rank {rank}", *texts):
        assert text in message, f"{text!r} is not in {message}"


def raise_in_backward(parameter):
    def fail(gradient):
        raise OnPurpose("in backward")

    parameter.register_hook(fail)


@check
def a_tensor_that_one_rank_never_submits(rank, folder):
    hvd.init(stall_limit_s=0.5, log="off")
    if rank != CULPRIT:
        error = raises(unisono.Stalled, lambda: hvd.allreduce(torch.ones(2), name="forgotten"))
        names(error, CULPRIT, "forgotten")
        assert error.rank == CULPRIT and "forgotten" in error.tensor
    meet(rank, folder, 3)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum, name="next").item() == 3
    os._exit(0)


@check
def a_tensor_that_has_another_name_on_one_rank(rank, folder):
    hvd.init(stall_limit_s=0.5, log="off")
    name = "weight" if rank == CULPRIT else "weights"
    error = raises(unisono.Stalled, lambda: hvd.allreduce(torch.ones(2), name=name))
    assert error.tensor == f"allreduce.{name}"
    names(error, 0 if rank == CULPRIT else CULPRIT, name)
    survivor_done(rank, folder, 3)


@check
def a_step_that_one_rank_leaves_out(rank, folder):
    hvd.init(stall_limit_s=0.5, log="off")
    net = model()
    optimizer = optimizer_of(net)
    if rank != CULPRIT:
        net(torch.ones(4, 64)).sum().backward()
        raises(unisono.Stalled, optimizer.step, f"rank {CULPRIT}", "set to None")
        assert all(p.grad is None for p in net.parameters())
    survivor_done(rank, folder, 3)


def raises_in_backward(rank, folder, arena):
    hvd.init(log="off")
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

    names(raises(GONE, last_step), CULPRIT, "set to None")
    survivor_done(rank, folder)


@check
def one_rank_raises_in_backward(rank, folder):
    raises_in_backward(rank, folder, True)


@check
def one_rank_raises_in_backward_without_arena(rank, folder):
    raises_in_backward(rank, folder, False)


@check
def one_rank_raises_in_backward_of_ddp(rank, folder):
    os.environ["UNISONO_LOG"] = "off"
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

    names(raises(RuntimeError, train), CULPRIT, *LEFT)
    survivor_done(rank, folder)


@check
def one_rank_exits_early(rank, folder):
    hvd.init(log="off")
    for number in range(3):
        hvd.allreduce(torch.ones(8), name=f"round.{number}")
    if rank == CULPRIT:
        sys.exit(0)
    error = raises(GONE,
                   lambda: hvd.allreduce(torch.ones(8), name="round.3"))
    names(error, CULPRIT, "round.3", *LEFT)
    assert error.rank == CULPRIT
    names(raises(unisono.Error, lambda: hvd.allreduce(torch.ones(8), name="again")), CULPRIT)
    survivor_done(rank, folder)


@check
def one_rank_exits_early_from_training(rank, folder):
    hvd.init(log="off")
    net = model()
    optimizer = optimizer_of(net)
    net(torch.ones(4, 64)).sum().backward()
    if rank == CULPRIT:
        sys.exit(0)  # with gradients under way, which may still arrive

    def two_steps():
        optimizer.step()
        optimizer.zero_grad()
        net(torch.ones(4, 64)).sum().backward()
        optimizer.step()

    names(raises(GONE, two_steps), CULPRIT, "set to None")
    survivor_done(rank, folder)


def leaves_while_steps_are_pending(rank, folder, schedule):
    hvd.init(log="off")
    net = model()
    optimizer = optimizer_of(net, schedule=schedule)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.ones(4, 64)).sum().backward()
        optimizer.step()
    output = net(torch.ones(4, 64)).sum()
    if rank == CULPRIT:
        sys.exit(0)

    def step_and_look():
        output.backward()
        optimizer.step()
        net.state_dict()

    error = raises(GONE, step_and_look)
    names(error, CULPRIT)
    assert "checkpoint" in str(error) or "set to None" in str(error), error
    net.state_dict()  # nothing is pending any more, so that an older state can be loaded
    survivor_done(rank, folder)


@check
def one_rank_exits_before_a_step_by_priority(rank, folder):
    leaves_while_steps_are_pending(rank, folder, "priority")


@check
def one_rank_exits_before_a_step_in_two_phases(rank, folder):
    leaves_while_steps_are_pending(rank, folder, "two-phase")


@check
def one_rank_exits_early_from_ddp(rank, folder):
    os.environ["UNISONO_LOG"] = "off"
    join_group(rank, folder)
    net = ddp()
    net(torch.ones(4, 64)).sum().backward()
    if rank == CULPRIT:
        sys.exit(0)
    error = raises(RuntimeError, lambda: net(torch.ones(4, 64)).sum().backward())
    names(error, CULPRIT, *LEFT)
    survivor_done(rank, folder)


@check
def ends_after_init(rank, folder):
    hvd.init()


@check
def ends_with_an_optimizer_in_the_arena(rank, folder):
    hvd.init()
    net = model()
    optimizer = optimizer_of(net)
    assert optimizer.gradients_in_arena
    net(torch.ones(4, 64)).sum().backward()
    optimizer.step()
    net(torch.ones(4, 64)).sum().backward()
    globals()["kept until the end"] = optimizer


@check
def ends_with_steps_that_are_pending(rank, folder):
    hvd.init()
    for schedule in ("priority", "two-phase"):
        net = model()
        optimizer = optimizer_of(net, schedule=schedule)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(4, 64)).sum().backward()
            optimizer.step()
        globals()[f"{schedule} until the end"] = net, optimizer


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
    net = ddp()
    net(torch.ones(4, 64)).sum().backward()
    globals()["kept until the end"] = net, dist.all_reduce(torch.ones(3), async_op=True)


mine = run_scenarios(scenarios)
mine()
