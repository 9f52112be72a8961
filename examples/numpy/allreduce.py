# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The shortest useful program: every rank brings an array, all leave with the sum.

    unisono run -np 4 python examples/numpy/allreduce.py
"""

import numpy as np

import unisono

unisono.init()
rank, size = unisono.rank(), unisono.size()

total = unisono.allreduce(np.arange(4.0) + rank, name="values", op=unisono.Sum)
assert np.array_equal(total, np.arange(4.0) * size + size * (size - 1) / 2)

# Asynchronous, in place, and in any order: the ranks agree among themselves.
names = ["weight", "bias"]
tensors = {name: np.full(3, float(rank)) for name in names}
order = names if rank % 2 == 0 else names[::-1]
handles = [unisono.allreduce_async_(tensors[name], name=name) for name in order]
for handle in handles:
    unisono.synchronize(handle)

print(f"rank {rank} of {size}: sum {total}, average {tensors['weight']}", flush=True)
