# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 0 waits for a rank that never comes, and is interrupted."""

import os
import signal
import threading

import numpy as np

import unisono

unisono.init()
if unisono.rank() == 0:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        unisono.allreduce(np.ones(3), name="lonely")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
# The other rank is here from the start: it cannot leave before the interrupt has come.
unisono.allreduce(np.ones(3), name="after")
