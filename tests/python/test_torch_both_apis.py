# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""hvd.init() and init_process_group("unisono") in one program."""

import sys

import pytest

import checked
import ranks

torch = pytest.importorskip("torch", reason="torch is not installed")
SCRIPT = "torch_both_apis.py"


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return checked.Job(SCRIPT, 2, lambda: str(tmp_path_factory.mktemp("store") / "file"))


@pytest.mark.parametrize("name", checked.names(SCRIPT))
def test_on_two_ranks(job, name):
    job.confirm(name)


def test_the_job_ends_well(job):
    job.confirm_good_end()


def test_under_torchrun(tmp_path):
    """Its variables describe the job to both."""
    pytest.importorskip("torch.distributed.run")
    script = tmp_path / "script.py"
    script.write_text("""
import torch
import torch.distributed as dist
import unisono.torch as hvd
dist.init_process_group("unisono")
hvd.init()
assert hvd.size() == dist.get_world_size() == 2
assert hvd.allreduce(torch.ones(2), op=hvd.Sum, name="x").tolist() == [2, 2]
dist.barrier()
dist.destroy_process_group()
assert hvd.allreduce(torch.ones(2), op=hvd.Sum, name="y").tolist() == [2, 2]
print(f"rank {hvd.rank()} done")
""")
    output = ranks.run_line([sys.executable, "-m", "torch.distributed.run", "--standalone",
                             "--nproc-per-node", "2", str(script)],
                            environment={"OMP_NUM_THREADS": "1"})
    assert "rank 0 done" in output and "rank 1 done" in output, output
