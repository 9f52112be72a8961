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
from checks import check, run_all
from process_group_support import everyone, mine, same, start

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
