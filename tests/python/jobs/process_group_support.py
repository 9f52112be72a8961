# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What the jobs on backend unisono share: their group, tensors that all ranks know, comparisons."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

from unisono.torch.backend.process_group import _HAS_PYTHON_BACKENDS

RANK, SIZE = int(os.environ["UNISONO_RANK"]), int(os.environ["UNISONO_SIZE"])
FOREVER = timedelta(seconds=60)
TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
          torch.uint8]


def start(name="unisono"):
    # A file for each start: whoever closes a FileStore last removes its file, also under a rank
    # that has just opened it again.
    start.count = getattr(start, "count", 0) + 1
    store = dist.FileStore(f"{sys.argv[1]}.{start.count}", SIZE)
    dist.init_process_group(name, store=store, rank=RANK, world_size=SIZE, timeout=FOREVER)


def mine(*shape, dtype=torch.float32, rank=None):
    """Different on every rank, and known to all: small whole numbers."""
    rank = RANK if rank is None else rank
    count = int(torch.Size(shape).numel())
    return ((torch.arange(count) % 5) + rank + 1).to(dtype).reshape(shape)


def everyone(*shape, dtype=torch.float32):
    return [mine(*shape, dtype=dtype, rank=rank) for rank in range(SIZE)]


def same(got, wanted):
    assert got.dtype == wanted.dtype and torch.equal(got, wanted), f"{got} is not {wanted}"


def monitored_barrier(timeout):
    # Versions without Backends in Python call it on Gloo's groups only, by name.
    ask = dist if _HAS_PYTHON_BACKENDS else dist.group.WORLD
    ask.monitored_barrier(timeout=timeout)
