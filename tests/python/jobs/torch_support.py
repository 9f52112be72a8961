# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What the jobs on unisono.torch share: a job that has been joined, and comparisons."""

import torch

import unisono.torch as hvd

hvd.init()
ME, ALL = hvd.rank(), hvd.size()


def same(result, wanted):
    wanted = torch.as_tensor(wanted, dtype=result.dtype)
    assert torch.equal(result, wanted.expand_as(result) if wanted.dim() == 0 else wanted), (
        result, wanted)
