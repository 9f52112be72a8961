# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a script in a process forked from server.py, and ends as it ends.

    python -I -S client.py SOCKET SCRIPT ARGUMENTS...
"""

import json
import os
import resource
import signal
import socket
import sys


def inherited() -> list[int]:
    open_ones = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            continue  # the folder that was listed
        open_ones.append(int(name))
    return open_ones


def main() -> None:
    descriptors = inherited()
    text = json.dumps({"arguments": sys.argv[2:], "environment": dict(os.environ),
                       "folder": os.getcwd(), "descriptors": descriptors}).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sys.argv[1])
        socket.send_fds(line, [len(text).to_bytes(8, "little")], descriptors)
        line.sendall(text)
        code = int(line.recv(16) or b"1")
    if code < 0:
        # Ends by the same signal, without a core file of its own.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
