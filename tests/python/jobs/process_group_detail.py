# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""torch's own checks around backend unisono, on two ranks that were started with
TORCH_DISTRIBUTED_DEBUG=DETAIL and TORCH_DIST_NAN_CHECK=1. Arguments: a store's file and the backend."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

import unisono.torch  # noqa: F401: registers the backend
from checks import Skip, check, raises, run_all

RANK, SIZE = int(os.environ["UNISONO_RANK"]), int(os.environ["UNISONO_SIZE"])
ALONE = sys.argv[2] == "unisono"
dist.init_process_group(sys.argv[2], store=dist.FileStore(sys.argv[1], SIZE), rank=RANK,
                        world_size=SIZE, timeout=timedelta(seconds=60))


@check
def calls_work_as_ever():
    tensor = torch.full((5,), RANK + 1.0)
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    assert tensor.tolist() == [3] * 5
    assert not ALONE or work.is_completed()
    output = torch.zeros(SIZE)
    dist.all_gather_into_tensor(output, torch.tensor([float(RANK)]))
    assert output.tolist() == [0, 1]
    if ALONE:  # With Gloo for the default backend torch 2.15 crashes here, also by itself.
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
        model(torch.ones(1, 4)).sum().backward()
    dist.barrier()


@check
def differing_calls_are_named():
    def call():
        if RANK == 0:
            dist.all_reduce(torch.ones(4))
        else:
            dist.broadcast(torch.ones(4), 0)
    error = raises(RuntimeError, call, "mismatch")
    assert "ALLREDUCE" in str(error) and "BROADCAST" in str(error), error
    raises(RuntimeError, lambda: dist.all_reduce(torch.ones(3 + RANK)), "mismatch")
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [SIZE] * 3


@check
def not_a_number_is_found():
    if not hasattr(torch._C._distributed_c10d, "NanCheckHook"):
        raise Skip("this torch checks for NaN on NVIDIA's backend only")
    for tensor in (torch.tensor([1.0, float("nan")]), torch.tensor(float("nan"))):
        raises(RuntimeError, lambda: dist.all_reduce(tensor), "NaN")
    dist.all_reduce(torch.tensor([1.0, float("inf")]))


@check
def ends_in_good_order():
    dist.destroy_process_group()
    assert not unisono.is_initialized()


run_all()
