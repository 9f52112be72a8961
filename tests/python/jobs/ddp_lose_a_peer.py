# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 1 ends in the middle of DDP's backward; rank 0 says so instead of waiting. Argument: a
store's file."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import unisono.torch  # noqa: F401: registers the backend

RANK, SIZE = int(os.environ["UNISONO_RANK"]), int(os.environ["UNISONO_SIZE"])
dist.init_process_group("unisono", store=dist.FileStore(sys.argv[1], SIZE), rank=RANK,
                        world_size=SIZE)
model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64)),
                                bucket_cap_mb=0.001)
try:
    for step in range(10):
        loss = model(torch.randn(4, 64)).square().mean()
        if RANK == 1 and step == 5:
            model.module[0].weight.register_hook(lambda _: os._exit(3))
        loss.backward()
except RuntimeError as error:
    print(f"told: {error}".splitlines()[0], flush=True)
    sys.exit(4)
