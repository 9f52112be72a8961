# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Open MPI or MPICH under `unisono bench`, through mpi4py on NumPy buffers."""
import re

import numpy as np
from mpi4py import MPI

import bench_peer


class Mpi:
    def __init__(self):
        self.comm = MPI.COMM_WORLD
        self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()
        text = MPI.Get_library_version()
        self.version = re.search(r"v?(\d+\.\d+[.\w]*)", text).group(1)

    def barrier(self):
        self.comm.Barrier()

    def prepare(self, collective, dtype, data, output):
        try:
            kind = MPI._typedict[np.dtype(dtype).char]
        except (TypeError, KeyError):
            raise bench_peer.Unsupported(f"mpi4py has no {dtype}") from None
        if dtype == "float16":
            raise bench_peer.Unsupported("MPI has no 16-bit floats")
        comm, op = self.comm, MPI.LOR if dtype == "bool" else MPI.SUM
        send = [data, kind]
        if collective == "allreduce":
            return lambda: comm.Allreduce(MPI.IN_PLACE, send, op=op)
        if collective == "broadcast":
            return lambda: comm.Bcast(send, root=0)
        receive = [output, kind]
        if collective == "allgather":
            return lambda: comm.Allgather(send, receive)
        if collective == "reducescatter":
            return lambda: comm.Reduce_scatter_block(send, receive, op=op)
        return lambda: comm.Alltoall(send, receive)


bench_peer.serve(Mpi())
