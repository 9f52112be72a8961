# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Two hosts for a benchmark: network namespaces that a veth joins, shaped the same both ways."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from typing import Iterator


def address(host: int) -> str:
    return f"10.213.78.{host + 1}"


def _sh(*words: str) -> None:
    subprocess.run(words, check=True)


@contextlib.contextmanager
def joined(rate: str = "1gbit") -> Iterator[list[list[str]]]:
    """For each host what to put before a command so that it runs there; nothing where namespaces
    cannot be made."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        yield []
        return
    names = [f"unisono-bench-{os.getpid()}-{host}" for host in (0, 1)]
    try:
        for name in names:
            _sh("ip", "netns", "add", name)
        _sh("ip", "-n", names[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0",
            "netns", names[1])
        for host, name in enumerate(names):
            _sh("ip", "-n", name, "addr", "add", f"{address(host)}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                _sh("ip", "-n", name, "link", "set", device, "up")
            _sh("tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate,
                "burst", "128kb", "latency", "50ms")
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
