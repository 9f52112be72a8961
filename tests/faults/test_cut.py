# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The network between hosts is cut without a word: both sides have an error, and the side
that stays together agrees whom it lost."""

import pathlib
import subprocess
import time

import pytest

import namespaces
from harness import Job, check_blame

def cut(hosts: namespaces.Hosts, index: int) -> None:
    """Unplugs a host at the switch: packets vanish, nothing is closed."""
    switch = hosts.names[0].rsplit("-", 1)[0] + "-sw"
    subprocess.run(["ip", "-n", switch, "link", "set", f"p{index}", "down"], check=True)


@pytest.mark.parametrize("count, victim, transport", [(2, 1, "auto"), (3, 0, "auto"), (3, 2, "tcp")])
def test_cut_network_ends_both_sides(count: int, victim: int, transport: str,
                                     tmp_path: pathlib.Path) -> None:
    with namespaces.hosts(count, tmp_path) as hosts:
        places = [(hosts.inside(i), hosts.addresses[i]) for i in range(count)]
        with Job(count, "loop", "elements=50000", transport=transport, places=places) as job:
            job.wait_ready()
            time.sleep(0.1)
            cut(hosts, victim)
            errors = job.errors(victim)
            check_blame(job, victim, errors, "PeerLost", hosts.addresses[victim])
            assert job.ranks[victim].finish() == 0
            alone, = job.ranks[victim].events("error")
            assert alone["code"] == "PeerLost" and alone["untouched"], alone
            assert alone["culprit_rank"] != victim
