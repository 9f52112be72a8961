# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of a few tensors with long names. With a number, rank 1 kills itself in that step."""

import os
import signal
import sys

import numpy as np

import unisono

KILLED_IN = int(sys.argv[1]) if len(sys.argv) > 1 else -1
NAMES = [f"encoder.layers.{i}.attention.self.query_key_value.dense.weight.gradient"
         for i in range(4)]

unisono.init()
tensors = [np.ones(1000 * 4**i, dtype=np.float32) for i in range(len(NAMES))]
for step in range(30):
    handles = [unisono.allreduce_async_(tensor, name=name, op=unisono.Average)
               for name, tensor in zip(NAMES, tensors)]
    if step == KILLED_IN and unisono.rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for handle in handles:
        unisono.synchronize(handle)
stats = unisono.stats()
classes = [value for name, value in stats.items()
           if name.startswith(("buckets_below_", "buckets_from_"))]
assert len(classes) == 5 and sum(classes) == stats["buckets"], stats
unisono.shutdown()
print("done", flush=True)
