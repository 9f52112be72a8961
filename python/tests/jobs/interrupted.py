# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 0 waits for a rank that never comes, and is interrupted."""

import os
import signal
import threading
import time

import numpy as np

import unisono

unisono.init()
if unisono.rank() == 0:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    try:
        unisono.allreduce(np.ones(3), name="lonely")
    except KeyboardInterrupt:
        assert time.monotonic() - start < 2
        print("interrupted", flush=True)
else:
    time.sleep(1.5)
