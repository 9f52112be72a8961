# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients through the collectives, on two ranks; and on one, by finite differences."""

import pytest

import checked

torch = pytest.importorskip("torch", reason="torch is not installed")
import unisono.torch as hvd  # noqa: E402

job, test_on_two_ranks, test_the_job_ends_well = checked.tests_of("torch_autograd.py")


@pytest.mark.parametrize("call", [
    lambda x: hvd.allreduce(x, op=hvd.Sum, prescale_factor=0.5),
    lambda x: hvd.allgather(x),
    lambda x: hvd.broadcast(x, 0),
    lambda x: hvd.alltoall(x),
    lambda x: hvd.alltoall(x, [4])[0],
    lambda x: hvd.reducescatter(x, op=hvd.Sum, postscale_factor=2.0),
    lambda x: hvd.grouped_allreduce([x, x * 2])[1],
    lambda x: hvd.grouped_allgather([x, x * 2])[1],
    lambda x: hvd.grouped_reducescatter([x, x * 2])[1],
], ids=["allreduce", "allgather", "broadcast", "alltoall", "alltoall_splits", "reducescatter",
        "grouped_allreduce", "grouped_allgather", "grouped_reducescatter"])
def test_finite_differences_agree(alone, call):
    x = torch.arange(8.0, dtype=torch.float64).view(4, 2).requires_grad_()
    assert torch.autograd.gradcheck(call, (x,))
    assert torch.autograd.gradgradcheck(call, (x,))
