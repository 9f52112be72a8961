# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 1 dies in its second backward(); rank 0 is told, and keeps no gradient it could apply."""

import os

import torch

import unisono
from unisono.torch.optimizer import DistributedOptimizer

unisono.init()
net = torch.nn.Sequential(torch.nn.Linear(100, 400), torch.nn.Linear(400, 10))
optimizer = DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                 net.named_parameters(), bucket_bytes=4096)
assert optimizer.gradients_in_arena
for step in range(2):
    optimizer.zero_grad()
    output = net(torch.ones(3, 100))
    if step == 1 and unisono.rank() == 1:
        net[0].weight.register_hook(lambda gradient: os._exit(1))
    output.sum().backward()
    try:
        optimizer.step()
    except unisono.PeerLost as error:
        assert error.rank == 1 and "set to None" in str(error), error
        assert all(p.grad is None for p in net.parameters())
        print("rank 0 dropped its gradients", flush=True)
        raise SystemExit(1)
