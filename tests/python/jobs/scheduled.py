# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A model with every kind of layer order, and the comparison that the checks of schedules are made
of: training with a schedule gives what training without one gives, to the bit."""

import torch
import torch.nn.functional as F

from torch_support import ALL
from training import batch, same_on_all_ranks, sgd
from unisono.torch.optimizer import DistributedOptimizer
from unisono.torch.optimizer.schedule import pending, transfers

SCHEDULES = ("priority", "two-phase")
STEPS = 5
transfers._ONE_PHASE_BYTES = 100  # so that both ways are taken by small models, too


class Net(torch.nn.Module):
    """Registered in another order than used."""

    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(8, 2)
        self.middle = torch.nn.Linear(16, 8)
        self.first = torch.nn.Linear(6, 16)
        self.idle = torch.nn.Linear(3, 3)  # never used

    def forward(self, x):
        return self.last(torch.tanh(self.middle(torch.tanh(self.first(x)))))


def made(net=Net, seed=0):
    torch.manual_seed(seed)
    return net()


def simple(net, optimizer, steps=STEPS, after=lambda step: None):
    for step in range(steps):
        x, y = batch(step, False)
        optimizer.zero_grad()
        F.mse_loss(net(x).float(), y).backward()
        optimizer.step()
        after(step)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=0.01)


def wrapped(net, make=sgd, **arguments):
    return DistributedOptimizer(make(net.parameters()), net.named_parameters(), **arguments)


def bits(net):
    return [p.detach().clone() for p in net.parameters()]


def equal(these, those, what=""):
    for number, (one, other) in enumerate(zip(these, those)):
        # Sums of two ranks do not depend on their order.
        same = torch.equal(one, other) if ALL == 2 else torch.allclose(one, other, 1e-2, 1e-4)
        assert same, f"{what}: {number} is off by {(one - other).abs().max()}"


def states(optimizer):
    return [value for _, state in sorted(optimizer.state_dict()["state"].items())
            for _, value in sorted(state.items()) if isinstance(value, torch.Tensor)]


def compare(loop=simple, make=sgd, net=Net, schedules=SCHEDULES, partition_bytes=64, **arguments):
    """Trains without and with each schedule; parameters and the optimizer's state are equal."""
    plain = made(net)
    without = wrapped(plain, make, **arguments)
    loop(plain, without)
    for schedule in schedules:
        given = made(net)
        optimizer = wrapped(given, make, schedule=schedule, partition_bytes=partition_bytes,
                            **arguments)
        loop(given, optimizer)
        equal(bits(given), bits(plain), schedule)
        equal(states(optimizer), states(without), f"state with {schedule}")
        same_on_all_ranks(given)


def is_pending(module):
    return [pending.is_pending(p) for p in module._parameters.values()]
