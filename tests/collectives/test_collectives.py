# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The same chorus on every kind of rank: threads, processes by shared memory and by TCP, hosts."""

import pathlib
import sys

import pytest

import chorus
import namespaces
import ranks

SCRIPT = pathlib.Path(chorus.__file__)
SEED = 20260101


def in_unison(output: str, size: int) -> bool:
    return all(f"rank {rank} of {size} in unison" in output for rank in range(size))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17])
def test_threads(size: int) -> None:
    ranks.as_threads(size, lambda engine: chorus.sing(engine, SEED + size))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 17])
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_processes(size: int, transport: str) -> None:
    output = ranks.as_processes(size, SCRIPT, str(SEED + size), flags=["--transport", transport])
    assert in_unison(output, size), output


@pytest.mark.parametrize("flags", [["--encrypt"], ["--set", "keep_inputs=true"],
                                   ["--set", "integrity=plain"]], ids=lambda flags: flags[-1])
def test_processes_over_tcp(flags: list[str]) -> None:
    output = ranks.as_processes(3, SCRIPT, str(SEED), flags=["--transport", "tcp", *flags])
    assert in_unison(output, 3), output


@pytest.mark.parametrize("count, slots", [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)])
def test_hosts(count: int, slots: int, tmp_path: pathlib.Path) -> None:
    command = ranks.command()
    with namespaces.hosts(count, tmp_path) as hosts:
        where = ",".join(f"{address}:{slots}" for address in hosts.addresses)
        line = [*hosts.inside(0), command, "run", "-np", str(count * slots), "-H", where,
                "--rsh", hosts.rsh, sys.executable, str(SCRIPT), str(SEED)]
        assert in_unison(ranks.run_line(line), count * slots)


@pytest.mark.parametrize("seed", range(5))
def test_random_orders(seed: int) -> None:
    ranks.as_threads(4, lambda engine: chorus.sing(engine, seed))
