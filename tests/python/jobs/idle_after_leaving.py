# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 1 leaves in good order and lives on; rank 0's engine must go on sleeping."""

import time

import unisono

unisono.init()
unisono.barrier()
if unisono.rank() == 1:
    unisono.shutdown()
    time.sleep(1.5)
else:
    time.sleep(0.5)
    before = unisono.stats()["wakeups"]
    time.sleep(0.5)
    woken = unisono.stats()["wakeups"] - before
    assert woken < 200, f"{woken} wake-ups in half a second with nothing to do"
    print("slept")
