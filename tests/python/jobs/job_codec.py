# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose options name a codec that keeps what it does not send: what takes it, and what does
not. Two ranks on backend unisono. Argument: a store's file."""

import copy
import gc
import types

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import unisono
import unisono.torch as hvd
from checks import check, raises, run_all
from process_group_support import RANK, SIZE, everyone, mine, same, start
from unisono.torch import outer

EMPTY = 16  # bytes of a state of codecs that have kept nothing


def kept():
    return unisono.codec_state()


@check
def calls_without_names_keep_nothing():
    for _ in range(5):
        tensor = mine(4096)
        dist.all_reduce(tensor)
        same(tensor, sum(everyone(4096)))
    tensors = [mine(300), mine(500)]
    dist.all_reduce_coalesced(tensors)
    same(tensors[1], sum(everyone(500)))
    assert len(kept()) == EMPTY, len(kept())


@check
def the_hook_keeps_by_parameter():
    net = torch.nn.Linear(64, 64)
    model = DistributedDataParallel(net)
    model.register_comm_hook(None, hvd.ddp_hook)
    sizes = []
    for _ in range(5):
        model(mine(2, 64)).square().mean().backward()
        sizes.append(len(kept()))
    assert sizes[0] > EMPTY and len(set(sizes)) == 1, sizes
    assert b"ddp." in kept() and b"noname" not in kept()
    unisono.barrier()
    unisono.load_codec_state(kept()[:8] + bytes(8))
    unisono.barrier()


@check
def what_the_library_adds_up_itself_is_not_encoded():
    norm, whole = hvd.SyncBatchNorm(600), torch.nn.BatchNorm1d(600)
    rows = torch.randn(4 * SIZE, 600, generator=torch.Generator().manual_seed(3))
    slopes = torch.randn(4 * SIZE, 600, generator=torch.Generator().manual_seed(4))
    part = slice(4 * RANK, 4 * RANK + 4)
    mine_in, all_in = rows[part].clone().requires_grad_(), rows.clone().requires_grad_()
    norm(mine_in).backward(slopes[part])
    whole(all_in).backward(slopes)
    torch.testing.assert_close(mine_in.grad, all_in.grad[part], rtol=1e-4, atol=1e-5)
    spread = torch.ones(600, requires_grad=True)
    (hvd.broadcast(spread, 0, name="spread") * (RANK + 1)).sum().backward()
    assert (spread.grad == (1.5 if RANK == 0 else 0.0)).all(), spread.grad
    net = torch.nn.Linear(2, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters(), compression="bf16")

    def closure():
        optimizer.zero_grad()
        loss = net(torch.ones(1, 2) * RANK).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert len(kept()) == EMPTY, kept()


@check
def outer_steps_are_not_encoded():
    parameter = torch.nn.Parameter(torch.zeros(1024))
    optimizer = outer.OuterOptimizer(torch.optim.SGD([parameter], lr=1.0), steps=1,
                                         update=outer.Averaging())
    parameter.grad = mine(1024)
    optimizer.step()
    same(parameter.detach(), -sum(everyone(1024)) / SIZE)
    assert optimizer.stats()["sent_bytes"] == 4096 and len(kept()) == EMPTY


def trained(net, optimizer, first, steps):
    for step in range(first, first + steps):
        optimizer.zero_grad()
        x = torch.randn(4, 64, generator=torch.Generator().manual_seed(10 * step + RANK))
        net(x).square().mean().backward()
        optimizer.step()
    return net.weight.detach().clone()


def made():
    torch.manual_seed(0)
    net = torch.nn.Linear(64, 64)
    return net, hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters())


@check
def what_the_jobs_codec_keeps_is_in_a_checkpoint():
    net, optimizer = made()
    trained(net, optimizer, 0, 3)
    saved = copy.deepcopy((net.state_dict(), optimizer.state_dict()))
    assert "unisono_codec_state" in saved[1]
    expected = trained(net, optimizer, 3, 3)
    unisono.barrier()
    net.load_state_dict(saved[0])
    optimizer.load_state_dict(saved[1])
    unisono.barrier()
    same(trained(net, optimizer, 3, 3), expected)


@check
def a_state_is_refused_whole():
    net, optimizer = made()
    trained(net, optimizer, 0, 2)
    saved, before = optimizer.state_dict(), kept()
    saved["param_groups"][0]["lr"] = 7.0
    broken = {**saved, "param_groups": []}
    raises(ValueError, lambda: optimizer.load_state_dict(broken), "group")
    assert kept() == before
    bad = {**saved, "unisono_codec_state": torch.zeros(5, dtype=torch.uint8)}
    raises(ValueError, lambda: optimizer.load_state_dict(bad), "not the state of codecs")
    assert optimizer.param_groups[0]["lr"] == 0.1 and kept() == before


@check
def names_of_parameters_that_are_gone_are_not_given_again():
    state = hvd.HookState(codec="qsgd:8")
    seen = []
    for _ in range(50):
        parameter = torch.nn.Parameter(torch.zeros(3))
        bucket = types.SimpleNamespace(parameters=lambda: [parameter])
        assert state.names_of(bucket) == state.names_of(bucket)
        seen += state.names_of(bucket)
        del bucket, parameter
        gc.collect()
    assert len(set(seen)) == 50, seen
    assert len(state._numbers) == 0
    assert copy.deepcopy(state).codec == "qsgd:8"


if __name__ == "__main__":
    start()
    run_all()
