# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Starts fault_rank processes as one job, without the launcher, so that nothing but unisono itself
can notice what becomes of them.

Tests say that something happens and who is named, never how soon: a busy machine may take its time,
and PATIENCE_S is only there so that a fault does not hang the suite. Where a test must know that
silence was not what told, SILENT_S makes silence take longer than any patience. How soon things are
noticed is measured in bench/, and the rules of the detector are tested under virtual time."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
from typing import Any, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRANSPORTS = ["shm", "tcp"]
HOST = socket.gethostname()
PATIENCE_S = 120.0
# Options of a job in which nobody is ever called lost for being silent.
SILENT_S = {"UNISONO_HEARTBEAT_S": "1000", "UNISONO_SUSPECT_S": "2000", "UNISONO_DEAD_S": "3600"}


def find_program(name: str, variable: str, folder: str) -> pathlib.Path:
    """The newest build of a program, unless the environment names one."""
    if named := os.environ.get(variable):
        return pathlib.Path(named)
    built = [p for p in (ROOT / "build").glob(f"*/{folder}/{name}") if os.access(p, os.X_OK)]
    if not built:
        raise FileNotFoundError(f"{name} is not built; run make build or set {variable}")
    return max(built, key=lambda path: path.stat().st_mtime)


def fault_rank() -> pathlib.Path:
    return find_program("fault_rank", "UNISONO_FAULT_RANK", "tests")


def unisono_command() -> pathlib.Path:
    return find_program("unisono", "UNISONO_BIN", "tools")


def clean_environment() -> dict[str, str]:
    foreign = ("UNISONO_", "HOROVOD_", "OMPI_", "PMI", "SLURM_", "RANK", "WORLD_SIZE")
    return {k: v for k, v in os.environ.items() if not k.startswith(foreign)}


def wait_until(condition: Any, limit_s: float = PATIENCE_S) -> bool:
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.005)
    return bool(condition())


class RankProcess:
    """One rank and what it said."""

    def __init__(self, command: list[str], environment: dict[str, str], fds: list[int]) -> None:
        self.process = subprocess.Popen(
            command, env=environment, pass_fds=fds, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines: list[dict[str, Any]] = []
        self.stderr = ""
        self._readers = [threading.Thread(target=self._read_out, daemon=True),
                         threading.Thread(target=self._read_err, daemon=True)]
        for reader in self._readers:
            reader.start()

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        self.stderr = self.process.stderr.read()

    @property
    def pid(self) -> int:
        return self.process.pid

    def events(self, event: str) -> list[dict[str, Any]]:
        return [line for line in list(self.lines) if line["event"] == event]

    def finish(self, limit_s: float = PATIENCE_S) -> int:
        code = self.process.wait(limit_s)
        for reader in self._readers:
            reader.join(5)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.send_signal(signal.SIGCONT)
        self.process.wait()
        for reader in self._readers:
            reader.join(5)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


class Job:
    """A job of fault_rank processes; use as a context, so that none survives the test."""

    def __init__(self, size: int, mode: str = "loop", *arguments: str, transport: str = "shm",
                 options: dict[str, str] | None = None,
                 per_rank: dict[int, dict[str, str]] | None = None,
                 key_of: dict[int, bytes] | None = None,
                 only: list[int] | None = None,
                 places: list[tuple[list[str], str]] | None = None) -> None:
        """places: for each rank what makes a command run there, and the address of the place."""
        self.size = size
        # Most tests look at what a failure leaves behind; those of the default say so.
        options = {"UNISONO_KEEP_INPUTS": "1"} | (options or {})
        self.keeps_inputs = options["UNISONO_KEEP_INPUTS"] == "1"
        self._stack = contextlib.ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fault-job-"))
        self.key = secrets.token_bytes(32)
        listener = self._stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        self.port: int = listener.getsockname()[1]
        base = clean_environment() | {
            "UNISONO_SIZE": str(size), "UNISONO_LOCAL_SIZE": str(size),
            "UNISONO_ADDRESS": f"127.0.0.1:{self.port}", "UNISONO_TRANSPORT": transport,
            "UNISONO_LOG": "off", "UNISONO_JOIN_TIMEOUT_S": "60"} | options
        line = [str(fault_rank()), mode, *arguments]
        self.ranks: list[RankProcess] = []
        try:
            for rank in only or range(size):
                own = pathlib.Path(folder) / f"key.{rank}"
                own.touch(0o600)
                own.write_bytes((key_of or {}).get(rank, self.key))
                environment = base | {
                    "UNISONO_RANK": str(rank), "UNISONO_LOCAL_RANK": str(rank),
                    "UNISONO_KEY_FILE": str(own)} | (per_rank or {}).get(rank, {})
                fds = []
                before: list[str] = []
                if places:
                    before, environment["UNISONO_HOST"] = places[rank]
                    environment["UNISONO_ADDRESS"] = f"{places[0][1]}:{self.port}"
                    del environment["UNISONO_LOCAL_SIZE"], environment["UNISONO_LOCAL_RANK"]
                elif rank == 0:
                    fds = [listener.fileno()]
                    environment["UNISONO_LISTEN_FD"] = str(listener.fileno())
                self.ranks.append(RankProcess([*before, *line], environment, fds))
        except BaseException:
            self.close()
            raise
        listener.close()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for rank in self.ranks:
            rank.close()
        self._stack.close()

    def wait_ready(self, limit_s: float = PATIENCE_S) -> None:
        everyone = lambda: all(r.events("ready") for r in self.ranks)  # noqa: E731
        assert wait_until(everyone, limit_s), self.story()

    def send(self, rank: int, number: signal.Signals) -> int:
        """Sends a signal; gives the moment just before, for those who measure."""
        before = time.monotonic_ns()
        os.kill(self.ranks[rank].pid, number)
        return before

    def others(self, culprit: int) -> Iterator[RankProcess]:
        return (r for i, r in enumerate(self.ranks) if i != culprit)

    def errors(self, culprit: int, limit_s: float = PATIENCE_S) -> list[dict[str, Any]]:
        """What every other rank saw; all have ended."""
        errors = []
        for rank in self.others(culprit):
            code = rank.finish(limit_s)
            found = rank.events("error")
            assert code == 0 and len(found) == 1, (code, rank.lines, rank.stderr)
            errors.append(found[0])
        return errors

    def story(self) -> str:
        return "\n".join(f"rank {i} pid {r.pid} exit {r.process.poll()} {r.lines} {r.stderr}"
                         for i, r in enumerate(self.ranks))


def check_blame(job: Job, culprit: int, errors: list[dict[str, Any]], code: str,
                host: str = HOST) -> None:
    """Everyone names the same rank, host and pid and a tensor of its own, and lost no data."""
    for error in errors:
        assert error["code"] == code, error
        assert error["culprit_rank"] == culprit, error
        assert error["culprit_pid"] == job.ranks[culprit].pid, error
        assert error["culprit_host"] == host, error
        assert error["tensor"].startswith("gradient."), error
        assert error["untouched"] or not job.keeps_inputs, error
        assert error["ours"] and error["same"] and error["wrong"] == 0, error
        assert f"rank {culprit}" in error["message"], error


def kill_once(size: int, transport: str, rng: random.Random, *arguments: str,
              number: signal.Signals = signal.SIGKILL,
              options: dict[str, str] | None = None) -> tuple[list[float], list[dict[str, Any]]]:
    """Kills a random rank at a random moment; milliseconds until each survivor had its error."""
    culprit = rng.randrange(size)
    with Job(size, "loop", *arguments, transport=transport, options=options) as job:
        job.wait_ready()
        time.sleep(rng.uniform(0, 0.05))
        at = job.send(culprit, number)
        errors = job.errors(culprit)
        check_blame(job, culprit, errors, "PeerLost")
        return [(error["at_ns"] - at) * 1e-6 for error in errors], errors
