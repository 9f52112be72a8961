# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Two hosts meet without anybody naming an interface, whatever their addresses look like; where they
cannot, one sentence says why."""

import contextlib
import os
import pathlib
import subprocess
import sys

import pytest

import layouts

RANK = """
import numpy as np
import unisono
unisono.init()
total = unisono.allreduce(np.full(100_000, unisono.rank() + 1.0, np.float32), name="x",
                          op=unisono.Sum)
assert (total == 3).all()
print("met")
unisono.shutdown()
"""


GROUP = """
import os, torch, torch.distributed as dist
dist.init_process_group("unisono", init_method=f"file://{os.environ['UNISONO_JOB_DIR']}/store",
                        rank=int(os.environ["UNISONO_RANK"]), world_size=2)
tensor = torch.full((100_000,), dist.get_rank() + 1.0)
dist.all_reduce(tensor)
assert (tensor == 3).all()
print("met")
dist.destroy_process_group()
"""


def run_in(builder: layouts.Builder, folder: pathlib.Path, script: str = RANK, **variables: str):
    """One rank on each host; rank 0 leaves its address in a folder that both see."""
    processes = []
    for host in range(layouts.HOSTS):
        environment = {**os.environ, "UNISONO_RANK": str(host), "UNISONO_SIZE": "2",
                       "UNISONO_LOCAL_RANK": "0", "UNISONO_LOCAL_SIZE": "1",
                       "UNISONO_JOB": "layouts", "UNISONO_JOB_DIR": str(folder), **variables}
        processes.append(subprocess.Popen([*builder.inside(host), sys.executable, "-c", script],
                                          env=environment, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, text=True))
    return [(process.communicate(timeout=120)[0], process.returncode) for process in processes]


@pytest.fixture
def build():
    def entered(layout):
        try:
            return stack.enter_context(layouts.built(layout))
        except layouts.NotPermitted as why:
            pytest.skip(f"network namespaces are not permitted here: {why}")

    with contextlib.ExitStack() as stack:
        yield entered


@pytest.mark.parametrize("layout", layouts.MEETING, ids=lambda layout: layout.__name__)
def test_two_hosts_meet(layout, build, tmp_path):
    for output, code in run_in(build(layout), tmp_path):
        assert code == 0 and "met" in output, output


@pytest.mark.parametrize("layout", [layouts.two_networks_one_shared, layouts.ipv6_only],
                         ids=lambda layout: layout.__name__)
def test_a_process_group_of_torch_meets_too(layout, build, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    for output, code in run_in(build(layout), tmp_path, GROUP):
        assert code == 0 and "met" in output, output


def test_an_interface_can_be_named_for_a_process_group(build, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    outcome = run_in(build(layouts.dead_cable_first), tmp_path, GROUP, UNISONO_BIND_HOST="eth1")
    for output, code in outcome:
        assert code == 0 and "met" in output, output


@pytest.mark.parametrize("wanted", ["eth1", "10.213.1.0/24"])
def test_an_interface_or_a_network_can_be_named(wanted, build, tmp_path):
    outcome = run_in(build(layouts.dead_cable_first), tmp_path, UNISONO_BIND_HOST=wanted,
                     UNISONO_LOG="info")
    for output, code in outcome:
        assert code == 0 and "met" in output, output


def test_an_interface_that_is_not_there_is_an_error_that_lists_what_is(build, tmp_path):
    outcome = run_in(build(layouts.one_network), tmp_path, UNISONO_BIND_HOST="10.9.0.0/16",
                     UNISONO_JOIN_TIMEOUT_S="3")
    assert "no address of this host is in that network" in outcome[0][0]
    assert "eth0 10.213.1.1" in outcome[0][0]
    assert all(code != 0 for _, code in outcome)


def test_a_host_without_a_network_says_so(build, tmp_path):
    outcome = run_in(build(layouts.only_loopback), tmp_path, UNISONO_JOIN_TIMEOUT_S="3")
    assert "no address of this host can be reached from others" in outcome[0][0]
    assert all(code != 0 for _, code in outcome)


def test_a_network_that_loses_everything_is_named_by_address(build, tmp_path):
    outcome = run_in(build(layouts.nothing_arrives), tmp_path, UNISONO_JOIN_TIMEOUT_S="3")
    assert "10.213.1.1" in outcome[1][0] and "could not join through rank 0" in outcome[1][0]
    assert "rank 1 of 2 never came" in outcome[0][0]
