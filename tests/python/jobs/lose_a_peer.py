# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 1 kills itself in the middle of a collective; the others must name it."""

import os
import signal
import sys
import time

import numpy as np

import unisono

unisono.init()
pids = unisono.allgather_object(os.getpid())
unisono.barrier()
if unisono.rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
start = time.monotonic()
try:
    unisono.allreduce(np.ones(100_000), name="gradient")
except unisono.PeerLost as error:
    assert error.rank == 1, error.rank
    assert error.pid == pids[1], (error.pid, pids)
    assert error.host and error.retryable
    assert "1" in str(error)
    print(f"named in {time.monotonic() - start:.3f} s: {error}", flush=True)
    sys.exit(0)
sys.exit("no PeerLost")
