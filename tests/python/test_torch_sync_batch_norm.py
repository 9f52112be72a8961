# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation over ranks: two of them, one, and none."""

import pytest

import checked

torch = pytest.importorskip("torch", reason="torch is not installed")
import unisono.torch as hvd  # noqa: E402

job, test_on_two_ranks, test_the_job_ends_well = checked.tests_of("torch_sync_batch_norm.py")


@pytest.mark.parametrize("momentum", [0.1, None])
def test_without_a_job_it_is_batch_norm(momentum):
    synced = hvd.SyncBatchNorm(3, momentum=momentum)
    plain = torch.nn.BatchNorm2d(3, momentum=momentum)
    for _ in range(3):
        batch = torch.randn(4, 3, 2, 2)
        assert torch.allclose(synced(batch), plain(batch))
    assert torch.allclose(synced.running_var, plain.running_var)
    synced.eval(), plain.eval()
    assert torch.allclose(synced(batch), plain(batch))
