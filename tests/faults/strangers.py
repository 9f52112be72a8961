# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Those who knock at a job's door without belonging to it."""

from __future__ import annotations

import contextlib
import os
import random
import select
import socket
import struct
import threading

MAGIC = b"UNISONO\n"
VERSION = 9
HELLO_BYTES, ANSWER_BYTES, MAC_BYTES = 64, 80, 32


def hello(version: int = VERSION, purpose: int = 0, rank: int = 1, size: int = 2,
          to: int = 0) -> bytes:
    return MAGIC + struct.pack("<HBBiiiQ", version, purpose, 0, rank, size, to, 0) + os.urandom(32)


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """Fewer bytes mean that the other end closed."""
    got = b""
    while len(got) < count and (part := connection.recv(count - len(got))):
        got += part
    return got


def talk(port: int, words: bytes, answer_bytes: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(words)
        return read_exactly(connection, answer_bytes)


def prove_wrongly(connection: socket.socket, rng: random.Random) -> None:
    connection.sendall(hello())
    read_exactly(connection, ANSWER_BYTES)
    connection.sendall(rng.randbytes(MAC_BYTES))
    assert read_exactly(connection, MAC_BYTES) == b"", "a wrong proof was confirmed"


KINDS = ["scan", "random", "http", "wrong_version", "wrong_mac", "huge", "reset", "slow", "half_open"]


def visit(port: int, kind: str, rng: random.Random, held: list[socket.socket]) -> None:
    """One connection of the given kind. Those that do not end by themselves go to `held`."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    if kind in ("slow", "half_open"):
        if kind == "slow":
            connection.sendall(hello()[:rng.randrange(1, HELLO_BYTES)])
        held.append(connection)
        return
    # Being sent away while still speaking is what strangers are to expect.
    with connection, contextlib.suppress(ConnectionError):
        if kind == "random":
            connection.sendall(rng.randbytes(rng.randrange(1, 4096)))
        elif kind == "http":
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        elif kind == "wrong_version":
            connection.sendall(hello(version=rng.randrange(3, 65536)))
        elif kind == "wrong_mac":
            prove_wrongly(connection, rng)
        elif kind == "huge":
            connection.sendall(hello() + b"\xff" * (1 << 20))
        elif kind == "reset":
            connection.sendall(hello())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class SilentCrowd:
    """Holds connections that say nothing; one that is closed comes back at once."""

    def __init__(self, port: int, count: int) -> None:
        self._port = port
        self._over = threading.Event()
        self._held = [self._connect() for _ in range(count)]
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), timeout=10)

    def _keep(self) -> None:
        while not self._over.wait(0.001):
            closed, _, _ = select.select(self._held, [], [], 0)
            for connection in closed:
                connection.close()
                self._held[self._held.index(connection)] = self._connect()

    def __enter__(self) -> SilentCrowd:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for connection in self._held:
            connection.close()


class Eavesdropper:
    """Stands between a rank and rank 0, and keeps what the rank said."""

    def __init__(self) -> None:
        self.heard = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def listen_towards(self, port: int) -> None:
        threading.Thread(target=self._serve, args=(port,), daemon=True).start()

    def _serve(self, port: int) -> None:
        near, _ = self._listener.accept()
        self._listener.close()
        far = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=self._relay, args=(far, near, False), daemon=True).start()
        self._relay(near, far, True)

    def _relay(self, source: socket.socket, sink: socket.socket, keep: bool) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(65536):
                if keep:
                    self.heard += part
                sink.sendall(part)
            sink.shutdown(socket.SHUT_WR)
