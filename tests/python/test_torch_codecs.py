# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs in unisono.torch: how text and rules become a tensor's codec, and training on two ranks."""

import pytest

import checked

torch = pytest.importorskip("torch", reason="torch is not installed")
from unisono.torch.compression import Compression, codec_for  # noqa: E402

job, test_on_two_ranks, test_the_job_ends_well = checked.tests_of("torch_codecs.py", 2)

RULES = {"*.bias": "none", "conv?.*": "ef|topk:512:8", "a[0]*": "qsgd:4"}


@pytest.mark.parametrize("compression, dtype, name, codec", [
    ("ef|topk:512:4", torch.float32, "x", "ef|topk:512:4"),
    ("ef|topk:512:4", torch.float16, "x", "ef|topk:512:4"),
    ("ef|topk:512:4", torch.int32, "x", ""),
    ("bf16", torch.float16, "x", ""),
    (Compression.bf16, torch.float32, "x", "bf16"),
    (Compression.none, torch.float32, "x", ""),
    (RULES, torch.float32, "fc.bias", "none"),
    (RULES, torch.float32, "conv1.weight", "ef|topk:512:8"),
    (RULES, torch.float32, "conv12.weight", ""),
    (RULES, torch.float32, "a[0].weight", "qsgd:4"),
    ("*.bias=none,conv*=ef|topk:512:8", torch.float32, "conv.weight", "ef|topk:512:8"),
])
def test_codec_of_a_tensor(compression, dtype, name, codec):
    assert codec_for(compression, dtype, name) == codec
