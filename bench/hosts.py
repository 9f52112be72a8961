# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts for a benchmark: network namespaces, of which each sends at a given rate. Two are joined by one
wire, more by a switch, whose ports may have that rate, too."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
from typing import Iterator

# Packets that the kernel keeps between two namespaces. Where the hosts share few cores, its usual
# thousand overflow, and what is lost comes again after seconds, as from no wire.
BACKLOG = pathlib.Path("/proc/sys/net/core/netdev_max_backlog")
BACKLOG_PACKETS = "100000"

Inside = list[list[str]]  # for each host, what to put before a command so that it runs there


def address(host: int) -> str:
    return f"10.213.78.{host + 1}"


def bits_per_s(rate: str) -> float:
    factors = {"gbit": 1e9, "mbit": 1e6, "kbit": 1e3}
    return float(rate[:-4]) * factors[rate[-4:]]


def _sh(*words: str) -> None:
    subprocess.run(words, check=True)


def _shape(name: str, device: str, rate: str) -> None:
    # A burst of two packets as the device takes them, about a millisecond of 1 Gbit/s: with less, what
    # a late timer leaves unsent is lost to the rate.
    _sh("tc", "-n", name, "qdisc", "add", "dev", device, "root", "tbf", "rate", rate,
        "burst", "128kb", "latency", "50ms")


def _wire(names: list[str], switch: str, rate: str, ports: bool) -> None:
    if len(names) == 2:
        _sh("ip", "-n", names[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0",
            "netns", names[1])
    else:
        _sh("ip", "netns", "add", switch)
        _sh("ip", "-n", switch, "link", "add", "switch", "type", "bridge")
        _sh("ip", "-n", switch, "link", "set", "switch", "up")
        for host, name in enumerate(names):
            _sh("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name",
                f"port{host}", "netns", switch)
            _sh("ip", "-n", switch, "link", "set", f"port{host}", "master", "switch", "up")
            if ports:
                _shape(switch, f"port{host}", rate)  # what comes to the host
    for host, name in enumerate(names):
        _sh("ip", "-n", name, "addr", "add", f"{address(host)}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            _sh("ip", "-n", name, "link", "set", device, "up")
        _shape(name, "eth0", rate)


@contextlib.contextmanager
def joined(rate: str = "1gbit", hosts: int = 2, ports: bool = False) -> Iterator[Inside]:
    """Nothing where namespaces cannot be made. ports: limits what comes to a host as well."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        yield []
        return
    names = [f"unisono-bench-{os.getpid()}-{host}" for host in range(hosts)]
    switch = f"unisono-bench-{os.getpid()}-switch"
    backlog = BACKLOG.read_text()
    try:
        BACKLOG.write_text(BACKLOG_PACKETS)
        for name in names:
            _sh("ip", "netns", "add", name)
        _wire(names, switch, rate, ports)
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        BACKLOG.write_text(backlog)
        for name in [*names, switch]:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def remote_shell(inside: Inside, folder: str) -> str:
    """A command that enters a host by its address, as ssh would."""
    cases = "".join(f"{address(host)}) name={words[-1]} ;; " for host, words in enumerate(inside))
    shell = pathlib.Path(folder) / "rsh"
    shell.write_text(f"#!/bin/sh\nhost=$1; shift\ncase $host in {cases}esac\n"
                     "exec ip netns exec $name sh -c \"$*\"\n")
    shell.chmod(0o755)
    return str(shell)
