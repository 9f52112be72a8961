# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Has PyTorch imported, and forks a process from itself for every client.py that asks.

Importing PyTorch and what its optimizers load takes a rank six seconds of a core, and the tests
start a hundred ranks. A forked process then runs the script as ``python script`` would, with the
client's arguments, environment, folder and descriptors. unisono itself is imported by the script.

What it hides: all ranks have one secret of hashing and much is imported already. With WARM_START=off,
as in ``make test-long``, ranks start cold.

    python server.py SOCKET        ends when its standard input does
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import runpy
import selectors
import signal
import socket
import sys

HIGH = 512  # above every descriptor that a client hands over


def preload() -> None:
    import numpy  # noqa: F401
    import torch
    import torch._dynamo  # noqa: F401
    import torch.distributed  # noqa: F401
    import torch.distributed.fsdp  # noqa: F401
    import torch.distributed.tensor  # noqa: F401
    import torch.nn.parallel  # noqa: F401

    torch.set_num_threads(1)


def receive(connection: socket.socket) -> tuple[dict, list[int]]:
    """What a client asks for, and its descriptors."""
    head, descriptors, _, _ = socket.recv_fds(connection, 8, 250)
    try:
        left, text = int.from_bytes(head, "little"), b""
        while left > 0:
            piece = connection.recv(left)
            if not piece:
                raise ConnectionError("the client was killed")
            left, text = left - len(piece), text + piece
        return json.loads(text), descriptors
    except (OSError, ValueError):
        for fd in descriptors:
            os.close(fd)
        raise


def become(wanted: dict, descriptors: list[int], line: int) -> None:
    """Makes this process what the client would have been; `line` goes to the client."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, HIGH) for fd in descriptors]
    line = fcntl.fcntl(line, fcntl.F_DUPFD_CLOEXEC, HIGH)
    os.closerange(3, HIGH)
    for fd, number in zip(high, wanted["descriptors"]):
        os.dup2(fd, number, inheritable=True)
        os.close(fd)
    # When the client is killed its end of the line closes, and SIGIO ends this process and those
    # that it forked.
    os.setpgid(0, 0)
    fcntl.fcntl(line, fcntl.F_SETOWN, -os.getpid())
    fcntl.fcntl(line, fcntl.F_SETFL, fcntl.fcntl(line, fcntl.F_GETFL) | os.O_ASYNC)
    with socket.socket(fileno=os.dup(line)) as client:
        try:
            if client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"":
                os._exit(1)  # it was killed before anybody listened
        except BlockingIOError:
            pass
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv = wanted["arguments"]
    sys.path[0] = os.path.dirname(sys.argv[0])
    random.seed()
    sys.modules["numpy"].random.seed()


def report_ended(lines: dict[int, socket.socket]) -> None:
    while lines:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        line = lines.pop(pid)
        try:
            line.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        except OSError:
            pass  # the client was killed
        line.close()


def serve(path: str) -> bool:
    """True in a forked process, which has become what was asked for; False at the end."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    woken, wake = socket.socketpair()
    woken.setblocking(False)
    wake.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno())
    lines: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        for each in (listener, woken, sys.stdin):
            selector.register(each, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    return False
                if key.fileobj is woken:
                    woken.recv(4096)
                    report_ended(lines)
                    continue
                connection, _ = listener.accept()
                try:
                    wanted, descriptors = receive(connection)
                except (OSError, ValueError):
                    connection.close()
                    continue
                line = connection.fileno()
                pid = os.fork()
                if pid == 0:
                    selector.close()
                    # Their numbers are the client's now.
                    for each in (listener, woken, wake, connection, *lines.values()):
                        each.detach()
                    become(wanted, descriptors, line)
                    return True
                for fd in descriptors:
                    os.close(fd)
                lines[pid] = connection


if __name__ == "__main__":
    preload()
    if serve(sys.argv[1]):
        runpy.run_path(sys.argv[0], run_name="__main__")
