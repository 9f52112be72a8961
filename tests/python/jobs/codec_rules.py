# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A job whose codec_rules name parameters, on two ranks: they hold however gradients travel."""

import torch

import unisono
import unisono.torch as hvd
from checks import check, run_all

unisono.init()


def gradients(**arguments):
    """Of a bias and of a weight that only their rules tell apart, all ones on every rank; and the
    same once more by another optimizer, whose operations have other names."""
    found = []
    for _ in range(2):
        net = torch.nn.ParameterDict({
            "bias": torch.nn.Parameter(torch.zeros(600)),
            "weight": torch.nn.Parameter(torch.zeros(600)),
            "matrix": torch.nn.Parameter(torch.zeros(30, 40)),
        })
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                             net.named_parameters(), **arguments)
        sum(p.sum() for p in net.values()).backward()
        optimizer.step()
        found.append((net, optimizer))
    return found


def check_rules(**arguments):
    for net, optimizer in gradients(**arguments):
        assert net["bias"].grad.eq(1).all(), "none"
        assert net["weight"].grad.count_nonzero() == 4 + 1, "a few of each 512"
        assert net["matrix"].grad.count_nonzero() == 600, "every second one"
        kept = bytes(optimizer.state_dict()["unisono_codec_state"].numpy())
        assert kept.count(b"weight") == 1 and kept.count(b"bias") == 0, arguments


@check
def each_by_itself():
    check_rules()


@check
def in_groups():
    check_rules(num_groups=1)
    check_rules(num_groups=2)


@check
def in_the_arena():
    for net, optimizer in gradients(gradients_in_arena=True):
        assert not optimizer.gradients_in_arena
        assert "codec" in str(optimizer.gradients_in_arena)
    check_rules(gradients_in_arena=True)


@check
def a_step_later():
    for _ in range(2):
        net = torch.nn.ParameterDict({"bias": torch.nn.Parameter(torch.zeros(600)),
                                      "weight": torch.nn.Parameter(torch.zeros(600))})
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                             net.named_parameters(), lag=1)
        for _ in range(2):
            optimizer.zero_grad()
            sum(p.sum() for p in net.values()).backward()
            optimizer.step()
        assert net["bias"].grad.eq(1).all() and net["weight"].grad.count_nonzero() == 4 + 1
        optimizer.flush()


@check
def by_a_schedule():
    check_rules(schedule="priority", partition_bytes=4096)
    net = torch.nn.ParameterDict({"factors": torch.nn.Parameter(torch.zeros(64, 64))})
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters(), schedule="priority",
                                         partition_bytes=4096)
    for step in range(3):
        made = torch.Generator().manual_seed(step)
        (net["factors"] * torch.randn(64, 64, generator=made)).sum().backward()
        optimizer.step()
    optimizer.synchronize()
    report = {each["codec"]: each for each in unisono.stats()["codecs"]}["powersgd:2"]
    assert report["tensors"] == 3, report
    assert report["packed_bytes"] == 3 * 4 * 2 * (64 + 64), "factors, whatever the parts"


if __name__ == "__main__":
    run_all()
