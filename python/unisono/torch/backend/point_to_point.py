# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""send and recv: two ranks that talk get an engine for the two of them.

It is joined through the store by a thread of its own at the first message, so that isend returns at
once; messages wait in line until then. A message is a broadcast in that engine, named by sender,
receiver, tag and its number among these, so that both directions and all tags run independently.

A receiver that takes a message from anybody must learn who has one: sends that nobody has taken
after a moment are announced in the store, until somebody takes them.
"""

from __future__ import annotations

import collections
import functools
import threading
import time
from typing import Any, Callable, Optional

import torch
from torch._C._distributed_c10d import PrefixStore

from ...errors import Error, ShutDown, Timeout
from . import rendezvous
from .group_engine import GroupEngine
from .work import FutureThread, OneFutureThread, Work

_ANNOUNCE_AFTER_S = 0.01
_LOOK_AGAIN_S = 0.005


class Pair:
    """The engine of this rank and one other, or the queue in front of it."""

    def __init__(self, store: Any, rank: int, peer: int, timeout_s: float,
                 given_up: Callable[[], bool]):
        self.futures = FutureThread()
        self._rank, self._peer, self._timeout_s = rank, peer, timeout_s
        self._given_up = given_up
        self._lock = threading.Lock()
        self._waiting: Optional[list[Callable[[], None]]] = []
        self._engine: Optional[GroupEngine] = None
        self._error: Optional[Exception] = None
        low, high = sorted((rank, peer))
        self._store = PrefixStore(f"pair/{low}-{high}", store)
        threading.Thread(target=self._join, daemon=True, name="unisono-pair").start()

    def move(self, work: Work, name: str, tensor: torch.Tensor, sends: bool) -> None:
        """Starts the work now, or as soon as there is an engine."""
        def begin() -> None:
            if self._engine is None:
                return work.fail(self._error or ShutDown("the process group has been destroyed"))
            root = 0 if (self._rank < self._peer) == sends else 1
            # Sender and receiver need not agree on the shape, only on how much it is.
            flat = tensor.detach().reshape(-1)
            try:
                ticket, finish = self._engine.move(name, flat, root)
            except Exception as error:  # noqa: BLE001: whoever waits gets it
                return work.fail(error)
            if not sends and flat.data_ptr() != tensor.data_ptr():
                def finish() -> None:
                    tensor.copy_(flat.reshape(tensor.shape))
            work.start([ticket], finish)

        with self._lock:
            if self._waiting is not None:
                self._waiting.append(begin)
                return
        begin()

    def close(self) -> None:
        self.futures.close()
        with self._lock:
            engine = self._engine
        if engine is not None:
            engine.close(leave=True)

    def _join(self) -> None:
        what = f"ranks {self._rank} and {self._peer} of the group exchange their first message"
        try:
            engine, _ = rendezvous.join(self._store, int(self._rank > self._peer), 2,
                                        self._timeout_s, what, given_up=self._given_up)
            made: Optional[GroupEngine] = GroupEngine(engine, self._timeout_s)
        except Exception as error:  # noqa: BLE001: whoever waits gets it
            made, self._error = None, error
        with self._lock:
            self._engine, waiting, self._waiting = made, self._waiting, None
            # In line, before anybody who comes now.
            for begin in waiting or ():
                begin()
        if made is not None and self._given_up():
            made.close(leave=True)


class PointToPoint:
    """The messages of one rank in one group. Thread: any."""

    def __init__(self, store: Any, rank: int, size: int, timeout_s: float):
        self._store, self._rank, self._size = store, rank, size
        self.timeout_s = timeout_s
        self._lock = threading.Lock()
        self._pairs: dict[int, Pair] = {}
        self._numbers: dict[tuple[int, int, int], int] = collections.defaultdict(int)
        self._closed = False
        self._announcer: Optional[_Announcer] = None

    def send(self, tensor: torch.Tensor, peer: int, tag: int) -> Work:
        with self._lock:
            pair = self._pair(peer)
            number = self._next(self._rank, peer, tag)
            if self._announcer is None:
                self._announcer = _Announcer(self._store)
        work = Work(f"send to rank {peer} (tag {tag}, number {number})", [tensor], pair.futures,
                    self.timeout_s)
        pair.move(work, _name(self._rank, peer, tag, number), tensor, True)
        self._announcer.watch(work, _name(self._rank, peer, tag, number))
        return work

    def receive(self, tensor: torch.Tensor, peer: int, tag: int) -> Work:
        with self._lock:
            pair = self._pair(peer)
            number = self._next(peer, self._rank, tag)
        work = Work(f"recv from rank {peer} (tag {tag}, number {number})", [tensor], pair.futures,
                    self.timeout_s)
        work.sender = peer
        pair.move(work, _name(peer, self._rank, tag, number), tensor, False)
        return work

    def receive_from_any(self, tensor: torch.Tensor, tag: int) -> Work:
        work = Work(f"recv from any rank (tag {tag})", [tensor], OneFutureThread(), self.timeout_s)
        threading.Thread(target=self._find_sender, args=(work, tensor, tag), daemon=True,
                         name="unisono-any-source").start()
        return work

    def close(self) -> None:
        with self._lock:
            self._closed = True
            pairs = list(self._pairs.values())
            if self._announcer is not None:
                self._announcer.close()
        for pair in pairs:
            pair.close()

    def _find_sender(self, work: Work, tensor: torch.Tensor, tag: int) -> None:
        deadline = time.monotonic() + self.timeout_s
        peers = [peer for peer in range(self._size) if peer != self._rank]
        try:
            while time.monotonic() < deadline:
                for peer in peers:
                    number = self._announced(peer, tag)
                    if number is None:
                        continue
                    with self._lock:
                        pair = self._pair(peer)
                    work.sender = peer
                    pair.move(work, _name(peer, self._rank, tag, number), tensor, False)
                    return
                time.sleep(_LOOK_AGAIN_S)
            raise Timeout(f"recv from any rank (tag {tag}): no rank sent anything within "
                          f"{self.timeout_s:g} s")
        except Exception as error:  # noqa: BLE001: whoever waits gets it
            work.fail(error)

    def _announced(self, peer: int, tag: int) -> Optional[int]:
        """Takes the next message of the peer if there is one, so that no other receive does."""
        with self._lock:
            if self._closed:
                raise ShutDown("recv from any rank: the process group has been destroyed")
            number = self._numbers[peer, self._rank, tag]
            if not rendezvous.has(self._store, [_sent_key(_name(peer, self._rank, tag, number))]):
                return None
            return self._next(peer, self._rank, tag)

    def _next(self, source: int, destination: int, tag: int) -> int:
        number = self._numbers[source, destination, tag]
        self._numbers[source, destination, tag] = number + 1
        return number

    def _pair(self, peer: int) -> Pair:
        if self._closed:
            raise ShutDown("the process group has been destroyed; make a new one")
        if not 0 <= peer < self._size or peer == self._rank:
            raise Error(f"rank {self._rank} cannot exchange messages with rank {peer} in a group "
                        f"of {self._size}; name another rank of the group")
        if peer not in self._pairs:
            self._pairs[peer] = Pair(self._store, self._rank, peer, self.timeout_s,
                                     lambda: self._closed)
        return self._pairs[peer]


class _Announcer:
    """Tells the store about sends that wait to be taken, each once, and takes it back when they have
    been."""

    def __init__(self, store: Any):
        self._store = store
        self._sends = FutureThread()  # waits for the announced sends, one after another
        self._watched: collections.deque[tuple[Work, str]] = collections.deque()
        self._wake = threading.Event()
        self._closed = False
        threading.Thread(target=self._run, daemon=True, name="unisono-announcer").start()

    def watch(self, work: Work, name: str) -> None:
        self._watched.append((work, name))
        if not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._watched.clear()  # torch may keep the group for good; it must not keep the sends
        self._wake.set()
        self._sends.close()

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait()
            time.sleep(_ANNOUNCE_AFTER_S)
            self._wake.clear()
            while not self._closed:
                try:
                    work, name = self._watched.popleft()
                except IndexError:
                    break
                if not work.is_completed():
                    try:
                        rendezvous.put(self._store, _sent_key(name), "1")
                    except RuntimeError:
                        return  # The store is gone, and with it everybody who would look.
                    self._sends.call(functools.partial(self._take_back, work, _sent_key(name)))
                del work

    def _take_back(self, work: Work, key: str) -> None:
        """Only the receiver ends the send, so whoever looks for the key later looks for the next."""
        while not self._closed and not work.is_completed():
            try:
                work.wait()
            except Exception:  # noqa: BLE001: told to whoever waits for the send itself
                pass
        rendezvous.remove(self._store, key)


def _name(source: int, destination: int, tag: int, number: int) -> str:
    return f"send {source} to {destination} tag {tag} number {number}"


def _sent_key(name: str) -> str:
    return f"sent/{name}"
