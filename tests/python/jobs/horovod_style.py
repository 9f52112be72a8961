# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What a script written for Horovod does, through the module-level names."""

import numpy as np

import unisono as hvd

hvd.init()
rank, size = hvd.rank(), hvd.size()
assert 0 <= rank < size and hvd.local_size() * hvd.cross_size() == size

handles = [hvd.allreduce_async_(np.full(5, float(rank)), name=f"layer.{i}", op=hvd.Sum)
           for i in np.random.default_rng(rank).permutation(20)]
for handle in handles:
    result = hvd.synchronize(handle)
    assert (result == size * (size - 1) / 2).all()
assert hvd.allreduce(np.array([7, -7])).tolist() == [7, -7]
assert hvd.broadcast_object({"epoch": 3} if rank == 0 else None)["epoch"] == 3
assert hvd.allgather_object(rank) == list(range(size))
evens = hvd.add_process_set(range(0, size, 2))
if evens.included():
    assert hvd.allreduce(1, op=hvd.Sum, process_set=evens, name="evens") == evens.size()
assert hvd.join() in range(size)
hvd.barrier()

# A second life in the same process.
hvd.shutdown()
hvd.init()
assert hvd.allreduce(1, op=hvd.Sum, name="again") == size
print(f"rank {rank} done", flush=True)
