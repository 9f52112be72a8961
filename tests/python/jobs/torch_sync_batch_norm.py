# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""SyncBatchNorm on each rank's part against nn.BatchNorm on the whole batch."""

import copy
import pickle

import torch
from checks import check, raises, run_all

import unisono.torch as hvd

hvd.init()
ME = hvd.rank()
PLAIN = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d,
         5: torch.nn.BatchNorm3d}


def compare(rows, trailing=(), dtype=torch.float64, steps=1, tolerance=1e-9, **arguments):
    """rows: how many each rank has."""
    features = 4
    torch.manual_seed(3)
    whole = PLAIN[2 + len(trailing)](features, **arguments).to(dtype)
    if whole.affine:
        with torch.no_grad():
            whole.weight.uniform_(0.5, 2), whole.bias.uniform_(-1, 1)
    synced = hvd.SyncBatchNorm(features, **arguments).to(dtype)
    synced.load_state_dict(whole.state_dict())
    first = sum(rows[:ME])
    mine = slice(first, first + rows[ME])
    for _ in range(steps):
        batch = torch.randn(sum(rows), features, *trailing, dtype=torch.float64) * 3 + 100
        slope = torch.randn(batch.shape, dtype=torch.float64)
        everything = batch.to(dtype, copy=True).requires_grad_()
        part = batch[mine].to(dtype, copy=True).requires_grad_()
        wanted, got = whole(everything), synced(part)
        assert got.dtype == dtype
        close(got, wanted[mine], tolerance)
        wanted.backward(slope.to(dtype))
        got.backward(slope[mine].to(dtype))
        close(part.grad, everything.grad[mine], tolerance)
        if whole.affine:
            close(hvd.allreduce(synced.weight.grad, op=hvd.Sum), whole.weight.grad, tolerance * 50)
            close(hvd.allreduce(synced.bias.grad, op=hvd.Sum), whole.bias.grad, tolerance * 50)
        whole.zero_grad(), synced.zero_grad()
    if whole.track_running_stats:
        close(synced.running_mean, whole.running_mean, tolerance * 100)
        close(synced.running_var, whole.running_var, tolerance * 100)
        assert synced.num_batches_tracked == whole.num_batches_tracked == steps
    whole.eval(), synced.eval()
    close(synced(batch[mine].to(dtype)), whole(batch.to(dtype))[mine] if whole.track_running_stats
          else whole(batch[mine].to(dtype)), tolerance)


def close(got, wanted, tolerance):
    assert got.shape == wanted.shape
    assert torch.allclose(got.double(), wanted.double(), rtol=tolerance, atol=tolerance), (
        (got.double() - wanted.double()).abs().max())


@check
def equal_batches_in_every_dimension():
    for trailing in ((), (5,), (3, 2), (2, 2, 2)):
        compare([4, 4], trailing)


@check
def uneven_and_empty_batches():
    compare([5, 2], (3,))
    compare([1, 6])
    compare([1, 1])
    compare([0, 6], (2, 2))


@check
def momentum_and_running_values():
    compare([4, 3], (2,), steps=3)
    compare([4, 3], (2,), steps=3, momentum=None)
    compare([4, 3], (2,), steps=2, momentum=0.5, eps=0.1)


@check
def without_weights_and_without_running_values():
    compare([4, 3], affine=False)
    compare([4, 3], (2,), track_running_stats=False)


@check
def narrow_types():
    compare([8, 6], (4,), torch.float32, tolerance=2e-4)
    mine = torch.full((2, 4), float(ME)).bfloat16()
    norm = hvd.SyncBatchNorm(4)
    result = norm(mine)
    assert result.dtype == torch.bfloat16
    close(result, torch.full((2, 4), 2.0 * ME - 1), 1e-2)


@check
def inside_a_network():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), hvd.SyncBatchNorm(4), torch.nn.ReLU(),
                              torch.nn.Flatten(), torch.nn.Linear(16, 2), hvd.SyncBatchNorm(2))
    net(torch.randn(3 + ME, 3, 4, 4)).square().sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())
    net[1].weight.requires_grad_(False)
    net(torch.randn(3, 3, 4, 4)).sum().backward()


@check
def within_a_process_set():
    alone = hvd.add_process_set([1])
    if alone.included():
        norm, plain = hvd.SyncBatchNorm(3, process_set=alone), torch.nn.BatchNorm1d(3)
        batch = torch.randn(5, 3)
        close(norm(batch), plain(batch), 1e-6)
        close(copy.deepcopy(norm)(batch), plain(batch), 1e-6)
        assert copy.deepcopy(norm).process_set is alone
    unpickled = pickle.loads(pickle.dumps(hvd.SyncBatchNorm(3)))
    assert unpickled.process_set is hvd.global_process_set
    assert pickle.loads(pickle.dumps(alone)).ranks == [1]
    hvd.remove_process_set(alone)


@check
def mistakes():
    raises(ValueError, lambda: hvd.SyncBatchNorm(3)(torch.ones(3)), "2 dimensions")
    raises(ValueError, lambda: hvd.SyncBatchNorm(3)(torch.ones(0, 3)), "no rows on any rank")


run_all()
