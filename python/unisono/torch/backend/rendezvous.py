# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How the ranks of a process group get an engine of their own: they meet in torch's Store.

Every rank says in the store where it is. Rank 0 of the group reads that, opens a listening socket,
makes the key of the job and leaves the key and its addresses as a note; then all join as they would under a launcher.
Who may read the store may read the key: the store is as trusted as torch takes it to be.

The note names the token of every place it answers, so that what an earlier group of the same name
left behind is never taken for an answer.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from typing import Any, Callable, Optional, Sequence

from ... import _core, current
from ...config import chosen_options
from ...engine import Engine, make_options
from ...errors import Error, Timeout

_LOOK_AGAIN_S = (0.0005, 0.02)  # first and longest pause between two looks into the store
_LOOPBACK = "127.0.0.1"


def put(store: Any, key: str, value: str) -> None:
    store.set(key, value)
    if not hasattr(store, "check"):
        store.add(_flag(key), 1)


def has(store: Any, keys: Sequence[str]) -> bool:
    """Whether all keys have been put there. Never blocks: torch 2.0 cannot ask, but count."""
    if hasattr(store, "check"):
        return store.check(list(keys))
    return all(store.add(_flag(key), 0) > 0 for key in keys)


def remove(store: Any, *keys: str) -> None:
    """Takes back what was put there; what is not there, or cannot be deleted, stays as it is."""
    for key in keys:
        for each in (key,) if hasattr(store, "check") else (key, _flag(key)):
            try:
                store.delete_key(each)
            except RuntimeError:
                # Not every store can delete, and a store that is gone has forgotten the key.
                pass


def _flag(key: str) -> str:
    return f"{key}/is there"


def wait_for(store: Any, keys: Sequence[str], deadline: float,
             given_up: Callable[[], bool] = lambda: False) -> list[str]:
    """Looks until all keys are there; returns those that are missing at the deadline.

    store.wait() would do, but holds the store's only connection, and other threads of this process
    need the store to make the progress that is waited for."""
    pause, longest = _LOOK_AGAIN_S
    while not has(store, keys):
        if time.monotonic() >= deadline or given_up():
            return [key for key in keys if not has(store, [key])]
        time.sleep(pause)
        pause = min(2 * pause, longest)
    return []


def join(store: Any, rank: int, size: int, timeout_s: float, what: str, *,
         may_reuse: Optional[Engine] = None, order: Optional[str] = None,
         given_up: Callable[[], bool] = lambda: False) -> tuple[Engine, bool]:
    """The engine of this group and whether it was made here. may_reuse is taken when every rank of
    the group has one to offer. order: its ordering strategy, where the environment names none."""
    if size == 1:
        if may_reuse is not None:
            return may_reuse, False
        return _joined({"UNISONO_RANK": "0", "UNISONO_SIZE": "1"}, timeout_s, timeout_s, order), True
    meeting = _Meeting(store, rank, size, timeout_s, what, given_up)
    note = meeting.note_of_zero(may_reuse is not None)
    if note["reuse"] and may_reuse is not None:
        if rank != 0:  # the note itself stays: nobody tells rank 0 when all have read it
            meeting.clean_up()
        return may_reuse, False
    try:
        engine = meeting.enter(note, order)
    finally:
        meeting.close()
    meeting.clean_up()
    return engine, True


class _Meeting:
    def __init__(self, store: Any, rank: int, size: int, timeout_s: float, what: str,
                 given_up: Callable[[], bool]):
        self._store, self._rank, self._size = store, rank, size
        self._timeout_s, self._what, self._given_up = timeout_s, what, given_up
        self._deadline = time.monotonic() + timeout_s
        self._listener: Optional[socket.socket] = None

    def note_of_zero(self, has_engine: bool) -> dict[str, Any]:
        token = secrets.token_hex(8)
        place = {"token": token, "network": _network(), "address": _address_towards(_store_host()),
                 "reuse": has_engine}
        if self._rank == 0:
            return self._write_note(place)
        put(self._store, _place_key(self._rank), json.dumps(place))
        while not wait_for(self._store, ["note"], self._deadline, self._given_up):
            note = json.loads(self._store.get("note"))
            if note["tokens"][self._rank] == token:
                return note
            if time.monotonic() >= self._deadline or self._given_up():
                break
            time.sleep(_LOOK_AGAIN_S[1])
        raise Timeout(f"{self._what}: rank 0 of the group did not come within "
                      f"{self._timeout_s:g} s; see whether it runs and makes the same group")

    def _write_note(self, place: dict[str, Any]) -> dict[str, Any]:
        keys = [_place_key(rank) for rank in range(1, self._size)]
        missing = wait_for(self._store, keys, self._deadline, self._given_up)
        if missing:
            ranks = ", ".join(key.rpartition("/")[2] for key in missing)
            raise Timeout(f"{self._what}: ranks {ranks} of the group did not come within "
                          f"{self._timeout_s:g} s; see whether they run and make the same group")
        places = [place, *(json.loads(self._store.get(key)) for key in keys)]
        note = {"tokens": [each["token"] for each in places],
                "reuse": all(each["reuse"] for each in places),
                "stall_limit_s": self._timeout_s}
        if not note["reuse"]:
            addresses = _addresses(places)
            self._listener = _listen(addresses, self._size)
            port = self._listener.getsockname()[1]
            hosts = [f"[{each}]" if ":" in each else each for each in addresses]
            note.update(address=",".join(f"{host}:{port}" for host in hosts),
                        key=secrets.token_hex(32))
        put(self._store, "note", json.dumps(note))
        return note

    def enter(self, note: dict[str, Any], order: Optional[str]) -> Engine:
        key_fd = os.memfd_create("unisono-key")
        try:
            os.write(key_fd, bytes.fromhex(note["key"]))
            variables = {"UNISONO_RANK": str(self._rank), "UNISONO_SIZE": str(self._size),
                         "UNISONO_ADDRESS": note["address"], "UNISONO_KEY_FD": str(key_fd)}
            if self._listener is not None:
                variables["UNISONO_LISTEN_FD"] = str(self._listener.fileno())
            for passed_on in ("UNISONO_HOST", "UNISONO_BIND_HOST"):
                if passed_on in os.environ:
                    variables[passed_on] = os.environ[passed_on]
            return _joined(variables, self._timeout_s, note["stall_limit_s"], order)
        finally:
            os.close(key_fd)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def clean_up(self) -> None:
        """Once this rank has joined, all have read what it left in the store."""
        # Where the store cannot delete, the token tells what is left over from what is current.
        remove(self._store, "note" if self._rank == 0 else _place_key(self._rank))


def _joined(variables: dict[str, str], timeout_s: float, stall_limit_s: float,
            order: Optional[str]) -> Engine:
    options = make_options(None, chosen_options())
    if order is not None and "UNISONO_ORDER" not in os.environ:
        options.set("order", order)
    options.set("join_timeout_s", f"{timeout_s:g}")
    options.set("stall_limit_s", f"{stall_limit_s:g}")
    return Engine(options, environment=variables)


def default_engine(rank: int, size: int) -> Optional[Engine]:
    """The engine of unisono.init(), when its ranks are those of the world group."""
    if not current.is_initialized():
        return None
    engine = current.engine()
    if (engine.rank(), engine.size()) != (rank, size):
        raise Error(f"unisono.init() made this process rank {engine.rank()} of {engine.size()}, "
                    f"and init_process_group() makes it rank {rank} of {size}; start both from one "
                    "launcher, or call unisono.shutdown() first")
    return engine


def _place_key(rank: int) -> str:
    return f"place/{rank}"


def _network() -> str:
    """Equal on ranks that reach each other by loopback."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()}/{os.stat('/proc/self/ns/net').st_ino}"


def _store_host() -> str:
    return os.environ.get("MASTER_ADDR", "")


def _address_towards(host: str) -> str:
    """This host's address on the way there; "" when there is none. Nothing is sent."""
    if not host:
        return ""
    try:
        family, _, _, _, there = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(there)
            return probe.getsockname()[0]
    except OSError:
        return ""


def _addresses(places: list[dict[str, Any]]) -> list[str]:
    """By which the others reach rank 0: loopback unless some rank is elsewhere."""
    zero = places[0]["network"]
    far = [each for each in places if each["network"] != zero]
    if not far:
        return [_LOOPBACK]
    published = _core.published_addresses(os.environ.get("UNISONO_BIND_HOST", ""))
    # Where the routing table leads to ranks elsewhere comes first.
    ways = dict.fromkeys(_address_towards(each["address"]) for each in far)
    return [each for each in ways if each in published] + [
        each for each in published if each not in ways]


def _listen(addresses: list[str], backlog: int) -> socket.socket:
    if len(addresses) == 1:
        family = socket.AF_INET6 if ":" in addresses[0] else socket.AF_INET
        return socket.create_server((addresses[0], 0), family=family, backlog=backlog)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True,
                                    backlog=backlog)
    return socket.create_server(("0.0.0.0", 0), backlog=backlog)
