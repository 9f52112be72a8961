#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Whether MSG_ZEROCOPY pays on this kernel: a sender and a receiver, over loopback and between two
network namespaces (unshaped, and shaped to --rate), with plain sends and with pages lent to the
kernel. Needs root for the namespaces.
  bench/zerocopy.py
  bench/zerocopy.py --bytes 64K,1M --seconds 2

Shows the rate, what sender and receiver computed for each GB, and of how many sends the kernel says,
in the completions of the error queue, that it copied the pages all the same. It does so wherever the
receiver is on the same machine: only an adapter's own memory access can spare the copy.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import multiprocessing
import multiprocessing.connection
import os
import resource
import select
import socket
import struct
import sys
import time

import hosts

SO_ZEROCOPY, MSG_ZEROCOPY, COPIED, CLONE_NEWNET = 60, 0x4000000, 1, 0x40000000
PORT = 29581


def enter(words: list[str]) -> None:
    """Moves this process into the namespace that `words` would enter; nothing for loopback."""
    if words:
        with open(f"/run/netns/{words[-1]}", "rb") as place:
            if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")


def computed() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def receive(words: list[str], address: str, answer: multiprocessing.connection.Connection) -> None:
    enter(words)
    with socket.create_server((address, PORT)) as server:
        answer.send("ready")
        link, _ = server.accept()
        buffer, got, before = bytearray(1 << 20), 0, computed()
        while count := link.recv_into(buffer):
            got += count
        answer.send((got, computed() - before))


class Completions:
    """What the kernel says about pages it was lent; they may be written again only afterwards."""

    def __init__(self, link: socket.socket) -> None:
        self.link, self.done, self.copied = link, 0, 0

    def read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                _, words, _, _ = self.link.recvmsg(0, 256, socket.MSG_ERRQUEUE)
                for _, _, data in words:
                    _, _, _, code, _, first, last = struct.unpack("=IBBBBII", data[:16])
                    self.done += last - first + 1
                    self.copied += (last - first + 1) * (code & COPIED)


def send(words: list[str], address: str, size: int, seconds: float, lend: bool) -> dict[str, float]:
    enter(words)
    data, sends, sent = memoryview(bytearray(os.urandom(size))), 0, 0
    with socket.create_connection((address, PORT)) as link:
        if lend:
            link.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        link.setblocking(False)
        seen, before, begin = Completions(link), computed(), time.perf_counter()
        waiter = select.poll()
        waiter.register(link, select.POLLOUT)
        while time.perf_counter() - begin < seconds:
            rest = data
            while len(rest):
                try:
                    count = link.send(rest, MSG_ZEROCOPY if lend else 0)
                    sends, sent, rest = sends + 1, sent + count, rest[count:]
                except (BlockingIOError, OSError):
                    waiter.poll(100)
                if lend:
                    seen.read()
        while lend and seen.done < sends:
            waiter.poll(10)
            seen.read()
        took = time.perf_counter() - begin
        return {"bytes": sent, "seconds": took, "cpu": computed() - before,
                "copied": seen.copied / max(sends, 1)}


def worker(pipe: multiprocessing.connection.Connection, *given: object) -> None:
    pipe.send(send(*given))


def run(ends: list[list[str]], address: str, size: int, seconds: float, lend: bool) -> str:
    near, far = multiprocessing.Pipe()
    receiver = multiprocessing.Process(target=receive, args=(ends[1], address, far))
    receiver.start()
    near.recv()
    mine, theirs = multiprocessing.Pipe()
    sender = multiprocessing.Process(target=worker,
                                     args=(theirs, ends[0], address, size, seconds, lend))
    sender.start()
    told = mine.recv()
    _, receiver_cpu = near.recv()
    sender.join()
    receiver.join()
    gigabytes = told["bytes"] / 1e9
    return (f"{8 * gigabytes / told['seconds']:6.2f} Gbit/s, sender {told['cpu'] / gigabytes:5.3f} "
            f"and receiver {receiver_cpu / gigabytes:5.3f} s of CPU for each GB"
            + (f", {100 * told['copied']:.0f} % of the sends copied" if lend else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", default="64K,1M", help="of one send")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rate", default="1gbit")
    given = parser.parse_args()
    print(f"Linux {os.uname().release}, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for place in ("loopback", "namespaces, 40gbit", f"namespaces, {given.rate}"):
        with contextlib.ExitStack() as stack:
            ends: list[list[str]] = [[], []]
            address = "127.0.0.1"
            if place != "loopback":
                ends = stack.enter_context(hosts.joined(place.split()[-1]))
                address = hosts.address(1)
            if not ends:
                print(f"{place}: not measured, as namespaces cannot be made here")
                continue
            for text in given.bytes.split(","):
                size = int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]]
                for lend in (False, True, False, True):
                    print(f"{place:>20} {text:>4} {'zerocopy' if lend else 'plain':>8}: "
                          f"{run(ends, address, size, given.seconds, lend)}", flush=True)


if __name__ == "__main__":
    main()
