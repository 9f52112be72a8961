# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""DDP, FSDP, Lightning and Accelerate on backend unisono; each test is one check of one job."""

import sys

import pytest

import checked
import ranks

pytest.importorskip("torch")
SCRIPT = "ddp_checks.py"


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
                "--master-port", "0", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0"]
    return checked.Job(SCRIPT, 2, lambda: str(tmp_path_factory.mktemp("ddp")), launcher=launcher)


@pytest.mark.parametrize("name", checked.names(SCRIPT))
def test_training(training, name):
    training.confirm(name)


def test_a_rank_that_dies_in_backward_is_named(tmp_path):
    output = ranks.as_processes(2, checked.JOBS / "ddp_lose_a_peer.py", str(tmp_path / "store"),
                                expect=1)
    assert "told: " in output and "rank 1" in output.split("told: ")[1].splitlines()[0]
