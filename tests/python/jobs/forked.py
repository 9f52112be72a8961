# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Many small jobs of processes, forked from one that has imported the framework, which is what
takes the time. No launcher looks after them, so that the end of one rank ends no other.

Every scenario runs on each of its ranks, beyond any handler: what it raises ends the interpreter as
it would a user's. Its process has done well if it ended with 0 and silently, or with a traceback of
OnPurpose.
"""

from __future__ import annotations

import functools
import os
import pathlib
import secrets
import shutil
import signal
import socket
import tempfile
import time
from typing import Callable, Optional

TIMEOUT_S = 300
Scenario = Callable[[int, str], None]  # of the rank and a folder for all ranks


class OnPurpose(Exception):
    """The fault that a scenario is about."""


def fork_ranks(size: int, folder: str) -> tuple[Optional[int], list[int]]:
    """In a new rank its number; in the parent None, and the processes."""
    key = os.memfd_create("key")
    os.write(key, secrets.token_bytes(32))
    pids: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        os.environ.update({"UNISONO_SIZE": str(size), "UNISONO_KEY_FD": str(key),
                           "UNISONO_ADDRESS": "127.0.0.1:%d" % door.getsockname()[1]})
        for rank in range(size):
            pid = os.fork()
            if pid:
                pids.append(pid)
                continue
            os.environ["UNISONO_RANK"] = str(rank)
            if rank == 0:
                os.environ["UNISONO_LISTEN_FD"] = str(door.detach())
            for descriptor in (1, 2):
                os.dup2(os.open(f"{folder}/{rank}", os.O_CREAT | os.O_WRONLY | os.O_APPEND),
                        descriptor)
            return rank, []
    os.close(key)
    return None, pids


def wait_for_ranks(pids: list[int]) -> list[int]:
    """Their exit codes; those that hang are killed."""
    deadline = time.monotonic() + TIMEOUT_S
    codes: dict[int, int] = {}
    while len(codes) < len(pids):
        for pid in set(pids) - set(codes):
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                codes[pid] = os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return [codes[pid] for pid in pids]


def did_well(code: int, output: str) -> bool:
    return not output if code == 0 else code == 1 and f"{OnPurpose.__name__}: " in output


def run_scenarios(scenarios: list[tuple[int, Scenario]]) -> Callable[[], None]:
    """Says "ok NAME" or "failed NAME" of each, which runs on so many ranks. The caller calls what
    is returned, outside any function: that does nothing in the parent, and is the scenario in a
    rank."""
    for size, scenario in scenarios:
        folder = tempfile.mkdtemp()
        rank, pids = fork_ranks(size, folder)
        if rank is not None:
            return functools.partial(scenario, rank, folder)
        codes = wait_for_ranks(pids)
        outputs = [pathlib.Path(folder, str(rank)).read_text() for rank in range(size)]
        shutil.rmtree(folder)
        good = all(map(did_well, codes, outputs))
        print("ok" if good else "failed", scenario.__name__, flush=True)
        if not good:
            for rank, (code, output) in enumerate(zip(codes, outputs)):
                print(f"rank {rank} ended with {code}\n{output[-2000:]}", flush=True)
    return lambda: None
