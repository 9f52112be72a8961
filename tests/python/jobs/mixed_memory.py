# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Some ranks reduce arrays of the arena, others arrays of NumPy, the last one of three or more has
joined; every rank writes to its array right after synchronize(). Counts the rounds that went wrong."""

import sys

import numpy as np

import unisono

ROUNDS, COUNT = (int(text) for text in sys.argv[1:])

unisono.init()
rank, size = unisono.rank(), unisono.size()
active = min(size, 2) if size > 2 else size
if rank < active:
    # Two of two: one array of each kind. With a joined rank beside them, both in the arena.
    array = unisono.arena_empty(COUNT) if rank == 0 or size > 2 else np.empty(COUNT, np.float32)
    wrong = 0
    for step in range(ROUNDS):
        array[:] = step + rank
        handle = unisono.allreduce_async_(array, name="gradient", op=unisono.Sum)
        unisono.synchronize(handle)
        want = sum(step + each for each in range(active))
        # Rank 0 is in a hurry: it has its next gradient already.
        right = rank == 0 or bool((array == want).all())
        array[:] = -7e5
        wrong += not right
    print(f"rank {rank}: {wrong} of {ROUNDS} rounds wrong", flush=True)
unisono.join()
unisono.shutdown()
