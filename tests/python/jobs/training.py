# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A small model, its batches, and the comparison that the training checks are made of."""

import torch
import torch.nn.functional as F

import unisono
from unisono.torch.optimizer import DistributedOptimizer

STEPS = 4


def model(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 8),
                               torch.nn.Tanh(), torch.nn.Linear(8, 2))


def batch(step, whole, seed=100):
    random = torch.Generator().manual_seed(seed + step)
    x, y = torch.randn(12, 6, generator=random), torch.randn(12, 2, generator=random)
    rank, size = unisono.rank(), unisono.size()
    return (x, y) if whole else (x[rank::size], y[rank::size])


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01)


def simple(net, optimizer, whole, steps=STEPS):
    for step in range(steps):
        x, y = batch(step, whole)
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()


def flat(net):
    return torch.cat([p.detach().double().flatten() for p in net.parameters()])


def same_on_all_ranks(net):
    everyone = unisono.allgather_object(flat(net))
    assert all(torch.equal(everyone[0], each) for each in everyone), "ranks differ"


def compare(loop=simple, make=sgd, net=model, atol=1e-6, **arguments):
    """Trains both ways, with and without the arena; the two agree to the bit."""
    alone = net()
    loop(alone, make(alone.parameters()), True)
    seen = []
    for arena in (None, False):
        together = net()
        optimizer = DistributedOptimizer(make(together.parameters()), together.named_parameters(),
                                         gradients_in_arena=arena, **arguments)
        loop(together, optimizer, False)
        same_on_all_ranks(together)
        worst = (flat(together) - flat(alone)).abs().max().item()
        assert worst <= atol, f"off by {worst} with gradients_in_arena={arena}"
        seen.append(flat(together))
    assert torch.equal(*seen), "the arena changes bits"
    return optimizer
