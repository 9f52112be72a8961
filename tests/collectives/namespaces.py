# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts made of network namespaces on one bridge, for as long as a test runs."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
from typing import Iterator

import pytest

SUBNET = "10.213.77"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Hosts:
    """addresses[i] is host i; inside(i) prefixes a command so that it runs there."""

    def __init__(self, names: list[str], rsh: pathlib.Path):
        self.names = names
        self.addresses = [f"{SUBNET}.{i + 1}" for i in range(len(names))]
        self.rsh = str(rsh)

    def inside(self, index: int) -> list[str]:
        return ["ip", "netns", "exec", self.names[index]]


@contextlib.contextmanager
def hosts(count: int, folder: pathlib.Path) -> Iterator[Hosts]:
    """Skips, visibly, where namespaces are not permitted."""
    if shutil.which("ip") is None:
        pytest.skip("the ip command was not found: no network namespaces here")
    names = [f"unisono-{os.getpid()}-{i}" for i in range(count)]
    switch = f"unisono-{os.getpid()}-sw"
    made: list[str] = []
    try:
        try:
            for name in (switch, *names):
                _ip("netns", "add", name)
                made.append(name)
            _ip("-n", switch, "link", "add", "br0", "type", "bridge")
            _ip("-n", switch, "link", "set", "br0", "up")
            for i, name in enumerate(names):
                _ip("-n", switch, "link", "add", f"p{i}", "type", "veth", "peer", "name", "eth0",
                    "netns", name)
                _ip("-n", switch, "link", "set", f"p{i}", "master", "br0", "up")
                _ip("-n", name, "addr", "add", f"{SUBNET}.{i + 1}/24", "dev", "eth0")
                _ip("-n", name, "link", "set", "eth0", "up")
                _ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces are not permitted here: {error.stderr.strip()}")
        yield Hosts(names, _remote_shell(names, folder))
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _remote_shell(names: list[str], folder: pathlib.Path) -> pathlib.Path:
    """Called as ssh is, HOST COMMAND...: runs the command in the namespace of that address."""
    cases = "\n".join(f"  {SUBNET}.{i + 1}) name={name} ;;" for i, name in enumerate(names))
    script = folder / "rsh"
    script.write_text(f"#!/bin/sh\nhost=$1; shift\ncase $host in\n{cases}\n"
                      "  *) echo \"no such host: $host\" >&2; exit 255 ;;\nesac\n"
                      "exec ip netns exec $name sh -c \"$*\"\n")
    script.chmod(0o755)
    return script
