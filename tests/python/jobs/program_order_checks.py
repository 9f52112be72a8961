# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of torch.distributed run in the order of the program: nobody is asked, and calls that
differ are named on every rank. Four ranks. Argument: a store's file."""

import os
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import unisono
import unisono.torch  # noqa: F401: registers the backend
from checks import Skip, check, raises, run_all
from unisono.torch.backend.process_group import group_of

RANK, SIZE = int(os.environ["UNISONO_RANK"]), int(os.environ["UNISONO_SIZE"])
dist.init_process_group("unisono", store=dist.FileStore(sys.argv[1], SIZE), rank=RANK,
                        world_size=SIZE, timeout=timedelta(seconds=60))


def said(group=None):
    """How many control messages the group's engine has sent, here."""
    return group_of(group).engine.stats()["control_messages"]


def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(),
                         nn.Linear(32, 4))


def train(model, steps=6):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        model(torch.ones(2, 8) * (RANK + step)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


@check
def groups_run_in_the_order_of_the_program():
    order = group_of().engine.stats()["order"]
    dist.barrier()
    order = group_of().engine.stats()["order"]
    assert order["strategy"] == "program" and order["planned"], order
    assert said() == 0


@check
def unmodified_ddp_sends_no_control_message():
    before = said()
    model = DistributedDataParallel(net(), bucket_cap_mb=0.002)
    train(model)
    assert said() == before == 0
    for parameter in model.parameters():
        others = [torch.empty_like(parameter) for _ in range(SIZE)]
        dist.all_gather(others, parameter.detach())
        assert all(torch.equal(other, parameter) for other in others)
    assert said() == 0


@check
def every_call_does_without():
    for step in range(3):
        tensor = torch.full((5,), float(RANK + 1))
        dist.all_reduce(tensor)
        assert tensor.tolist() == [10] * 5
        dist.all_reduce(torch.empty(0))
        dist.broadcast(tensor, src=step)
        dist.reduce(tensor, dst=1)
        uneven = [torch.empty(rank + step) for rank in range(SIZE)]
        dist.all_gather(uneven, torch.full((RANK + step,), float(RANK)))
        assert [row.tolist() for row in uneven] == [[float(r)] * (r + step) for r in range(SIZE)]
        gathered = torch.empty(SIZE * 2)
        dist.all_gather_into_tensor(gathered, torch.full((2,), float(RANK)))
        assert gathered.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
        part = torch.empty(3)
        dist.reduce_scatter_tensor(part, torch.ones(3 * SIZE))
        assert part.tolist() == [SIZE] * 3
        received = torch.empty(SIZE)
        dist.all_to_all_single(received, torch.arange(float(SIZE)) + 10 * RANK)
        assert received.tolist() == [RANK + 10.0 * rank for rank in range(SIZE)]
        sends = [(RANK + to) % 3 for to in range(SIZE)]
        takes = [(of + RANK) % 3 for of in range(SIZE)]
        received = torch.empty(sum(takes))
        dist.all_to_all_single(received, torch.full((sum(sends),), float(RANK)), takes, sends)
        assert received.tolist() == [float(of) for of in range(SIZE) for _ in range(takes[of])]
        rows = [torch.empty(2) for _ in range(SIZE)] if RANK == step else None
        dist.gather(torch.full((2,), float(RANK)), rows, dst=step)
        if rows is not None:
            assert [row[0].item() for row in rows] == [0, 1, 2, 3]
        objects = [None] * SIZE
        dist.all_gather_object(objects, "x" * (RANK + 1))
        assert [len(each) for each in objects] == [1, 2, 3, 4]
        dist.barrier()
    assert said() == 0


@check
def sharded_parameters_on_a_mesh():
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        raise Skip("this torch has no fully_shard")
    if not hasattr(torch.cpu.Stream(), "record_event"):
        raise Skip("this torch's fully_shard does not run on CPUs")
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shards"))
    model = net()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(model)
    for dimension in ("copies", "shards"):
        group = mesh.get_group(dimension)
        assert group_of(group).engine.stats()["operations"] > 0
        assert said(group) == 0, dimension
    whole = torch.cat([each.full_tensor().reshape(-1) for each in model.parameters()]).detach()
    first = whole.clone()
    dist.broadcast(first, src=0)
    assert torch.equal(whole, first)


@check
def groups_of_several_threads_beside_messages():
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
    faults = []

    def work(group):
        try:
            works = []
            for step in range(30):
                tensor = torch.full((100 * step,), float(RANK))
                works.append((dist.all_reduce(tensor, group=group, async_op=True), tensor))
            expected = sum(dist.get_process_group_ranks(group))
            for each, tensor in works:
                each.wait()
                assert bool((tensor == expected).all())
        except BaseException as error:  # noqa: BLE001: for the main thread
            faults.append(error)

    threads = [threading.Thread(target=work, args=(mesh.get_group(name),))
               for name in ("rows", "columns")]
    for thread in threads:
        thread.start()
    peer = RANK ^ 1
    for step in range(5):
        received = torch.empty(3)
        sent = dist.isend(torch.full((3,), float(RANK * 10 + step)), peer)
        dist.recv(received, peer)
        sent.wait()
        assert received.tolist() == [peer * 10 + step] * 3
        dist.all_reduce(torch.ones(2))
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    assert said(mesh.get_group("rows")) == said(mesh.get_group("columns")) == said() == 0


@check
def differing_calls_are_named_on_every_rank():
    group = dist.new_group(timeout=timedelta(seconds=600))
    ones = torch.ones
    odd_calls = {
        "broadcast of float32 [4] from root 0": lambda: dist.broadcast(ones(4), 0, group=group),
        "allreduce of float64 [4], sum":
            lambda: dist.all_reduce(ones(4, dtype=torch.float64), group=group),
        "allreduce of float32 [5], sum": lambda: dist.all_reduce(ones(5), group=group),
        "allreduce of float32 [4], max":
            lambda: dist.all_reduce(ones(4), op=dist.ReduceOp.MAX, group=group),
        "allgather of float32":
            lambda: dist.all_gather_into_tensor(torch.empty(4 * SIZE), ones(4), group=group),
        "alltoall of float32": lambda: dist.all_to_all_single(torch.empty(4), ones(4), group=group),
    }
    for odd in (0, SIZE - 1):
        for named, call in odd_calls.items():
            usual = ones(4)
            error = raises(unisono.Mismatch, call if RANK == odd else
                           lambda: dist.all_reduce(usual, group=group), "Mismatched")
            text = str(error)
            assert named in text and "allreduce of float32 [4], sum" in text, text
            assert f"rank {odd}: " in text, text
            assert usual.tolist() == [1] * 4
            tensor = ones(3)
            dist.all_reduce(tensor, group=group)
            assert tensor.tolist() == [SIZE] * 3
    # One rank swaps two calls.
    first, second = ones(2), ones(3)
    calls = [first, second] if RANK != 1 else [second, first]
    works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor in calls]
    for each in works:
        raises(unisono.Mismatch, each.wait, "tensor shapes")
    dist.all_reduce(ones(3), group=group)
    dist.destroy_process_group(group)


@check
def a_missing_rank_is_named_and_comes_later():
    group = dist.new_group(timeout=timedelta(seconds=2))
    dist.all_reduce(torch.ones(1), group=group)
    dist.barrier()
    if RANK != 2:
        error = raises(unisono.Stalled, lambda: dist.all_reduce(torch.ones(3), group=group))
        assert "rank 2 has not" in str(error), error
    dist.barrier()
    if RANK == 2:
        raises(unisono.Stalled, lambda: dist.all_reduce(torch.ones(3), group=group), "rank 2")
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=group)
    assert tensor.tolist() == [SIZE] * 3
    dist.destroy_process_group(group)


@check
def horovods_calls_agree_by_name():
    """Last, since the world's engine asks from here on."""
    import unisono.torch as hvd
    hvd.init()
    assert group_of().engine.stats()["order"]["strategy"] == "auto"
    names = ["a", "b", "c", "d"]
    rotated = names[RANK:] + names[:RANK]
    handles = {name: hvd.allreduce_async(torch.ones(2), name=name, op=hvd.Sum) for name in rotated}
    for name in names:
        assert hvd.synchronize(handles[name]).tolist() == [SIZE] * 2
    dist.barrier()


run_all()
