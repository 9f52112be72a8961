# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that start with PyTorch already imported: see server.py."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Mapping

HERE = pathlib.Path(__file__).parent
# What PyTorch or Python read while they are loaded is too late for a process that has them.
READ_WHILE_LOADED = ("TORCH", "PYTHON", "OMP", "LD_", "KMP", "MKL")


def python_for(environment: Mapping[str, str]) -> list[str]:
    """The command that runs a script as ``python script`` would, in this environment."""
    usual = {"OMP_NUM_THREADS": "1"}
    if any(key.startswith(READ_WHILE_LOADED) and usual.get(key) != value
           for key, value in environment.items()):
        return [sys.executable]
    if os.environ.get("WARM_START") == "off" or importlib.util.find_spec("torch") is None:
        return [sys.executable]
    return [sys.executable, "-I", "-S", str(HERE / "client.py"), _server()]


@functools.lru_cache(maxsize=None)
def _server() -> str:
    """The socket of the one server of this test run."""
    folder = tempfile.TemporaryDirectory(prefix="unisono-warm-")
    path = os.path.join(folder.name, "socket")
    server = subprocess.Popen([sys.executable, str(HERE / "server.py"), path],
                              stdin=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def end() -> None:
        assert server.stdin is not None
        server.stdin.close()
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        folder.cleanup()

    atexit.register(end)
    while not os.path.exists(path):
        if server.poll() is not None:
            raise RuntimeError(f"server.py ended with {server.returncode} before it was ready")
        time.sleep(0.05)
    return path
