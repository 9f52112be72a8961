# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The examples for PyTorch run: started by unisono run, by torchrun, and alone."""

import importlib.util
import pathlib
import socket
import sys

import pytest

import checked
import ranks

pytest.importorskip("torch", reason="torch is not installed")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"
SCRIPT = "torch_examples.py"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


@pytest.fixture(scope="module")
def job():
    return checked.Job(SCRIPT, 2, MASTER_PORT=free_port)


@pytest.mark.parametrize("name", checked.names(SCRIPT))
def test_example_on_two_ranks(job, name):
    if name == "lightning_unmodified" and importlib.util.find_spec("lightning") is None:
        pytest.skip("lightning is not installed")
    job.confirm(name)


def test_ddp_by_torchrun():
    output = ranks.run_line(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         str(EXAMPLES / "ddp_unmodified.py"), "--steps", "3", "--width", "32"],
        environment=ONE_THREAD)
    assert output.count("parameters are equal on all ranks") == 1


def test_mnist_alone():
    output = ranks.run_line([sys.executable, str(EXAMPLES / "mnist.py"), "--epochs", "1",
                             "--images", "64"], environment=ONE_THREAD)
    assert "ranks: 1, loss" in output
