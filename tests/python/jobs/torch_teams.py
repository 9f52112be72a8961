# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Two optimizers with teams of their own, on two ranks, planned and not."""

import torch

import unisono
import unisono.torch as hvd
from checks import check, raises, run_all

ALPHA_S = 0.002  # that an emulated wire keeps each bucket


def nets():
    torch.manual_seed(7)
    return [torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)) for _ in range(2)]


def trained(teams, **more):
    """Both nets after some steps in which their gradients are exchanged at the same time."""
    both = nets()
    optimizers = [hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.05),
                                           net.named_parameters(prefix=f"net{i}"), team=team, **more)
                  for i, (net, team) in enumerate(zip(both, teams))]
    torch.manual_seed(hvd.rank())
    for _ in range(12):
        for net, optimizer in zip(both, optimizers):
            optimizer.zero_grad()
            net(torch.randn(4, 8)).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()
    return [p.detach().clone() for net in both for p in net.parameters()]


def joined(**options):
    hvd.shutdown()
    hvd.init(teams=2, emulate=f"alpha={ALPHA_S * 1000:g}ms", **options)


@check
def two_teams_have_buckets_on_their_way_together():
    for order in ("cache", "topo"):
        joined(order=order)
        one = trained([1, 1], gradients_in_arena=False)
        assert unisono.stats()["buckets_at_once"] == 1, unisono.stats()["buckets_at_once"]
        two = trained([1, 2], gradients_in_arena=False)
        assert unisono.stats()["buckets_at_once"] == 2
        arena = trained([2, 1])
        for a, b, c in zip(one, two, arena):
            assert torch.equal(a, b) and torch.equal(a, c)


@check
def a_wrong_team_names_the_option():
    joined()
    for wrong in (3, -1, True, "1"):
        raises(ValueError, lambda: trained([wrong, 1]), "team is", "the option teams is 2")
    raises(ValueError, lambda: trained([1, 1], schedule="two-phase"), "two-phase")
    raises(ValueError, lambda: unisono.allreduce(torch.ones(2), name="x", team=3),
           "there is no team 3", "teams")


hvd.init()
run_all()
hvd.shutdown()
