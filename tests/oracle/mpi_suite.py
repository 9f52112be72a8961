# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The same inputs through MPI and through unisono, as the body of one rank under mpirun."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

import unisono

TYPES = ["int32", "int64", "float32", "float64"]
OPERATORS = {unisono.Sum: MPI.SUM, unisono.Min: MPI.MIN, unisono.Max: MPI.MAX,
             unisono.Product: MPI.PROD}


def same(ours: np.ndarray, theirs: np.ndarray, what: str) -> None:
    if ours.dtype.kind == "f":
        assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-6), what
    else:
        assert np.array_equal(ours, theirs), what


def main() -> None:
    world = MPI.COMM_WORLD
    with unisono.Engine() as engine:
        assert (engine.rank(), engine.size()) == (world.rank, world.size), "as mpirun says"
        random = np.random.default_rng(world.rank)
        for dtype in TYPES:
            x = (random.normal(size=1000) * 5).astype(dtype)
            for op, mpi_op in OPERATORS.items():
                theirs = np.empty_like(x)
                world.Allreduce(x, theirs, mpi_op)
                same(engine.allreduce(x, name=f"{dtype}.{op.name}", op=op), theirs, f"{dtype} {op}")

            gathered = np.concatenate(world.allgather(x[:100 + world.rank]))
            same(engine.allgather(x[:100 + world.rank], name=dtype), gathered, "allgather")

            root = world.size - 1
            theirs = x.copy()
            world.Bcast(theirs, root)
            same(engine.broadcast(x, root, name=dtype), theirs, "broadcast")

            counts = [len(p) for p in np.array_split(x, world.size)]
            theirs = np.empty(counts[world.rank], dtype)
            world.Reduce_scatter(x, theirs, counts, MPI.SUM)
            ours = engine.reducescatter(x, name=dtype, op=unisono.Sum)
            same(ours, theirs, "reducescatter")

            sent = np.array_split(x, world.size)
            theirs = np.concatenate(world.alltoall(sent))
            ours, _ = engine.alltoall(x, [len(p) for p in sent], name=dtype)
            same(ours, theirs, "alltoall")
        engine.barrier()
    print(f"rank {world.rank} of {world.size}: all as MPI says", flush=True)


if __name__ == "__main__":
    main()
