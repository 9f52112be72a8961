# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Networks as people really have them: two hosts, made of network namespaces, that can meet although
something about their addresses misleads.

Every layout is a function that gets a Builder with two hosts and nothing between them, and says in
its docstring what misleads.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
from typing import Callable, Iterator

HOSTS = 2
Layout = Callable[["Builder"], None]


class NotPermitted(Exception):
    """This machine makes no network namespaces."""


class Builder:
    def __init__(self) -> None:
        self.names = [f"unisono-{os.getpid()}-l{i}" for i in range(HOSTS)]
        self._nowhere = f"unisono-{os.getpid()}-nowhere"
        self._cables = 0
        self._made: list[str] = []
        self._folders: list[pathlib.Path] = []

    def _run(self, *words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, text=True)

    def ip(self, host: int, *words: str) -> None:
        self._run("ip", "-n", self.names[host], *words)

    def begin(self) -> None:
        if shutil.which("ip") is None:
            raise NotPermitted("the ip command was not found")
        try:
            for name in (*self.names, self._nowhere):
                self._run("ip", "netns", "add", name)
                self._made.append(name)
            for host in range(HOSTS):
                self.ip(host, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            raise NotPermitted(error.stderr.strip()) from error

    def end(self) -> None:
        for name in self._made:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _give(self, host: int, interface: str, address: str) -> None:
        # Without nodad the kernel first looks for a while whether somebody else has the address.
        at_once = ["nodad"] if ":" in address else []
        self.ip(host, "addr", "add", address, "dev", interface, *at_once)

    def _next_name(self) -> str:
        self._cables += 1
        return f"eth{self._cables - 1}"

    def cable(self, first: str, second: str, mtu: int = 1500) -> None:
        """A link between the hosts, with an address (and prefix) at either end and the same name at
        both."""
        name = self._next_name()
        self._run("ip", "link", "add", name, "netns", self.names[0], "type", "veth", "peer",
                  "name", name, "netns", self.names[1])
        for host, address in ((0, first), (1, second)):
            self._give(host, name, address)
            self.ip(host, "link", "set", name, "mtu", str(mtu), "up")

    def dead_cable(self, first: str, second: str) -> None:
        """Looks like a cable, but what is sent there never arrives, and nobody says so."""
        name = self._next_name()
        for host, address in ((0, first), (1, second)):
            end = f"{name}-{host}"
            self._run("ip", "link", "add", name, "netns", self.names[host], "type", "veth", "peer",
                      "name", end, "netns", self._nowhere)
            self._give(host, name, address)
            self.ip(host, "link", "set", name, "up")
            self._run("ip", "-n", self._nowhere, "link", "set", end, "up")

    def lonely(self, host: int, name: str, address: str, up: bool = True) -> None:
        """An interface that leads nowhere but to this host, as a bridge of containers does."""
        self.ip(host, "link", "add", name, "type", "veth", "peer", "name", f"{name}-x")
        self._give(host, name, address)
        if up:
            self.ip(host, "link", "set", name, "up")
            self.ip(host, "link", "set", f"{name}-x", "up")

    def hosts_file(self, host: int, text: str) -> None:
        """What /etc/hosts says on that host."""
        folder = pathlib.Path("/etc/netns") / self.names[host]
        folder.mkdir(parents=True)
        self._folders.append(folder)
        (folder / "hosts").write_text(text)

    def inside(self, host: int) -> list[str]:
        return ["ip", "netns", "exec", self.names[host]]


@contextlib.contextmanager
def built(layout: Layout) -> Iterator[Builder]:
    builder = Builder()
    try:
        builder.begin()
        layout(builder)
        yield builder
    finally:
        builder.end()


def one_network(b: Builder) -> None:
    """Nothing misleads."""
    b.cable("10.213.1.1/24", "10.213.1.2/24")


def name_means_loopback(b: Builder) -> None:
    """Each host's own name leads to 127.0.1.1, as Debian's installer sets it."""
    b.cable("10.213.1.1/24", "10.213.1.2/24")
    for host in range(HOSTS):
        b.hosts_file(host, f"127.0.0.1 localhost\n127.0.1.1 {os.uname().nodename}\n")


def name_means_nothing(b: Builder) -> None:
    """The hosts' names cannot be resolved."""
    b.cable("10.213.1.1/24", "10.213.1.2/24")
    for host in range(HOSTS):
        b.hosts_file(host, "127.0.0.1 localhost\n")


def same_bridge(b: Builder) -> None:
    """Both hosts have the address 172.17.0.1, of their containers' bridges."""
    for host in range(HOSTS):
        b.lonely(host, "docker0", "172.17.0.1/16")
    b.cable("10.213.1.1/24", "10.213.1.2/24")


def dead_cable_first(b: Builder) -> None:
    """The first interface has addresses of one network, but nothing that is sent there arrives."""
    b.dead_cable("10.213.9.1/24", "10.213.9.2/24")
    b.cable("10.213.1.1/24", "10.213.1.2/24")


def interface_down(b: Builder) -> None:
    """The first interface has an address but is down."""
    for host in range(HOSTS):
        b.lonely(host, "aaa0", f"10.213.9.{host + 1}/24", up=False)
    b.cable("10.213.1.1/24", "10.213.1.2/24")


def ipv6_only(b: Builder) -> None:
    """No IPv4 address at all but loopback."""
    b.cable("fd00:213::1/64", "fd00:213::2/64")


def two_networks_one_shared(b: Builder) -> None:
    """Each host also has a network of its own, listed first and not routed."""
    b.lonely(0, "aaa0", "10.1.0.1/24")
    b.lonely(1, "aaa0", "10.2.0.1/24")
    b.cable("10.213.1.1/24", "10.213.1.2/24")


def one_way_route(b: Builder) -> None:
    """Host 1 reaches host 0's first address through the second cable; nothing leads back."""
    b.lonely(0, "aaa0", "10.1.0.1/24")
    b.cable("10.213.1.1/24", "10.213.1.2/24")
    b.ip(1, "route", "add", "10.1.0.0/24", "via", "10.213.1.1")
    b.lonely(1, "aaa0", "10.2.0.1/24")
    b.ip(0, "route", "add", "unreachable", "10.2.0.0/24")


def small_mtu(b: Builder) -> None:
    """Frames of 576 bytes only."""
    b.cable("10.213.1.1/24", "10.213.1.2/24", mtu=576)


def link_local_and_global(b: Builder) -> None:
    """A cable with addresses nobody assigned, and a real one."""
    for host in range(HOSTS):
        b.lonely(host, "aaa0", f"169.254.7.{host + 1}/16")
    b.cable("10.213.1.1/24", "10.213.1.2/24")


def one_family_lost(b: Builder) -> None:
    """IPv4 and IPv6 on different cables; the IPv4 one loses everything."""
    b.dead_cable("10.213.1.1/24", "10.213.1.2/24")
    b.cable("fd00:213::1/64", "fd00:213::2/64")


def routed_through_another_address(b: Builder) -> None:
    """The hosts share no network; each has a route to the other's."""
    b.lonely(0, "aaa0", "10.1.0.1/24")
    b.lonely(1, "aaa0", "10.2.0.1/24")
    b.cable("169.254.1.1/30", "169.254.1.2/30")
    b.ip(0, "route", "add", "10.2.0.0/24", "via", "169.254.1.2", "src", "10.1.0.1")
    b.ip(1, "route", "add", "10.1.0.0/24", "via", "169.254.1.1", "src", "10.2.0.1")


MEETING: list[Layout] = [
    one_network, name_means_loopback, name_means_nothing, same_bridge, dead_cable_first,
    interface_down, ipv6_only, two_networks_one_shared, one_way_route, small_mtu,
    link_local_and_global, one_family_lost, routed_through_another_address,
]


def only_loopback(b: Builder) -> None:
    """No interface but loopback: the hosts cannot meet."""


def nothing_arrives(b: Builder) -> None:
    """One cable, and it loses everything: the hosts cannot meet."""
    b.dead_cable("10.213.1.1/24", "10.213.1.2/24")
