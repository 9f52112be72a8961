# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What a job could leave behind. Its processes are known by a mark in their environment, which
children inherit whatever they do; its files by folders that are given to nobody else."""

from __future__ import annotations

import os
import pathlib
import signal
import uuid

NAME = "unisono"


def process_ids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


class Traces:
    """Give `environment` to a job; ask afterwards what is left of it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.mark = f"FAULT_MARK={uuid.uuid4()}"
        self.folders = [folder / "tmp", folder / "runtime"]
        for path in self.folders:
            path.mkdir(mode=0o700)
        name, value = self.mark.split("=")
        self.environment = {name: value, "TMPDIR": str(self.folders[0]),
                            "XDG_RUNTIME_DIR": str(self.folders[1])}
        self._names_before = set(self._system_names())

    def processes(self) -> dict[int, str]:
        found = {}
        for pid in process_ids():
            try:
                environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
                stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
            except OSError:
                continue
            if self.mark.encode() in environment and stat.rsplit(")", 1)[1].split()[0] != "Z":
                found[pid] = stat
        return found

    def memory_files(self) -> list[str]:
        """Shared memory without a name, still open in a process of the job."""
        found = []
        for pid in self.processes():
            try:
                links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
            except OSError:
                continue
            found += [f"{pid}: {link}" for link in links if link.startswith("/memfd:")]
        return found

    def _system_names(self) -> list[str]:
        names = [str(path) for folder in ("/dev/shm", "/tmp")
                 for path in pathlib.Path(folder).glob(f"*{NAME}*")]
        unix = pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]
        return names + [line.split()[-1] for line in unix if f"@{NAME}" in line]

    def names(self) -> set[str]:
        """Named sockets and files that were not there before."""
        return set(self._system_names()) - self._names_before

    def files(self) -> list[str]:
        return [str(path) for folder in self.folders for path in folder.rglob("*")]

    def end_all(self) -> None:
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)


def listens(port: int) -> bool:
    """Whether anybody listens on a TCP port of this host."""
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and int(fields[1].split(":")[1], 16) == port:
            return True
    return False
