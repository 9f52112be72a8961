# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Groups beside groups, on four ranks: meshes and what is built on them. Argument: a store's file."""

import os
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

import unisono.torch  # noqa: F401: registers the backend
from checks import Skip, check, run_all

RANK, SIZE = int(os.environ["UNISONO_RANK"]), int(os.environ["UNISONO_SIZE"])
dist.init_process_group("unisono", store=dist.FileStore(sys.argv[1], SIZE), rank=RANK,
                        world_size=SIZE, timeout=timedelta(seconds=60))


@check
def two_dimensional_mesh():
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("outer", "inner"))
    for dimension, mates in (("outer", [RANK % 2, RANK % 2 + 2]),
                             ("inner", [RANK // 2 * 2, RANK // 2 * 2 + 1])):
        group = mesh.get_group(dimension)
        assert dist.get_backend(group) == "unisono"
        tensor = torch.tensor([float(RANK)])
        dist.all_reduce(tensor, group=group)
        assert tensor.item() == sum(mates)


@check
def dtensor_on_the_mesh():
    try:
        from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    except ImportError:
        raise Skip("this torch has no public DTensor")
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (SIZE,))
    whole = torch.arange(8.0 * 4).reshape(8, 4)
    sharded = distribute_tensor(whole, mesh, [Shard(0)])
    assert sharded.to_local().shape == (2, 4)
    product = sharded.redistribute(mesh, [Replicate()]).to_local()
    assert torch.equal(product, whole)
    ones = distribute_tensor(torch.ones(4, 1), mesh, [Replicate()])
    assert torch.equal((sharded @ ones).full_tensor(), whole @ torch.ones(4, 1))


@check
def hybrid_sharding():
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        raise Skip("this torch has no fully_shard")
    if not hasattr(torch.cpu.Stream(), "record_event"):
        raise Skip("this torch's fully_shard does not run on CPUs")
    from torch.distributed.device_mesh import init_device_mesh
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    data = torch.randn(SIZE * 4, 8)
    alone = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    alone.load_state_dict(model.state_dict())
    alone(data).square().mean().backward()
    fully_shard(model, mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shards")))
    model(data[RANK * 4:RANK * 4 + 4]).square().mean().backward()
    for ours, theirs in zip(model.parameters(), alone.parameters()):
        assert torch.allclose(ours.grad.full_tensor(), theirs.grad, atol=1e-6)


@check
def groups_run_side_by_side():
    groups = [dist.new_group([0, 1, 2, 3]) for _ in range(3)]
    failures = []

    def work(number):
        try:
            for _ in range(50):
                tensor = torch.full((1000,), float(RANK + number))
                dist.all_reduce(tensor, group=groups[number])
                assert tensor[0].item() == 6 + 4 * number
        except Exception as error:  # noqa: BLE001: told below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    tensors = [torch.ones(10) for _ in groups]
    order = reversed(range(3)) if RANK % 2 else range(3)
    works = [dist.all_reduce(tensors[number], group=groups[number], async_op=True)
             for number in order]
    for each in works:
        each.wait()
    assert all(tensor[0] == SIZE for tensor in tensors)
    for group in (reversed(groups) if RANK % 2 else groups):
        dist.destroy_process_group(group)


@check
def two_backends_in_one_job():
    gloo = dist.new_group(backend="gloo")
    ours, theirs = torch.full((5,), float(RANK)), torch.full((5,), float(RANK))
    dist.all_reduce(ours)
    dist.all_reduce(theirs, group=gloo)
    assert torch.equal(ours, theirs)


run_all()
