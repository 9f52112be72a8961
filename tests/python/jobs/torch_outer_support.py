# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What the checks of outer steps share: a small model, its local steps, and looking at results."""

import torch
import torch.nn.functional as F

import unisono.torch as hvd
from unisono.torch import outer

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 9), torch.nn.Tanh(), torch.nn.Linear(9, 2))


def adam(net):
    return torch.optim.AdamW(net.parameters(), lr=0.02)


def made(net, inner=adam, **arguments):
    return outer.OuterOptimizer(inner(net), net.named_parameters(), **arguments)


def local_step(net, optimizer, step, rank=RANK):
    x = torch.randn(8, 5, generator=torch.Generator().manual_seed(1000 * step + rank))
    optimizer.zero_grad()
    F.mse_loss(net(x), x[:, :2].sin() + rank).backward()
    optimizer.step()


def train(net, optimizer, steps, first=0):
    for step in range(first, first + steps):
        local_step(net, optimizer, step)


def flat(net):
    return torch.cat([p.detach().flatten() for p in net.parameters()])


def anchors(optimizer):
    return torch.cat([each.anchor.flatten() for fragment in optimizer._rounds.fragments
                      for each in fragment.parameters])


def same_everywhere(value):
    return all(torch.equal(each, value) for each in hvd.allgather_object(value))


def close(one, other):
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
