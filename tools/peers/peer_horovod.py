# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Horovod under `unisono bench`, through horovod.torch on CPU tensors."""
import horovod
import horovod.torch as hvd
import numpy as np
import torch

import bench_peer

SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


class Horovod:
    def __init__(self):
        hvd.init()
        self.rank, self.size = hvd.rank(), hvd.size()
        self.version = horovod.__version__
        self.setups = 0
        self.mark = torch.zeros(1, dtype=torch.int32)

    def barrier(self):
        hvd.barrier() if hasattr(hvd, "barrier") else hvd.allreduce(self.mark, name="bench.barrier")

    def prepare(self, collective, dtype, data, output):
        element = getattr(torch, dtype, None)
        if element is None or dtype == "bool" or dtype.startswith("uint") and dtype != "uint8":
            raise bench_peer.Unsupported(f"horovod does not reduce {dtype}")

        def tensor(raw):
            return torch.from_numpy(raw.view(SIGNED[raw.itemsize])).view(element)

        self.setups += 1
        send, name = tensor(data), f"bench.{self.setups}"
        if collective == "allreduce":
            return lambda: hvd.allreduce_(send, name=name, op=hvd.Sum)
        if collective == "broadcast":
            return lambda: hvd.broadcast_(send, 0, name=name)
        return {"allgather": lambda: hvd.allgather(send, name=name),
                "reducescatter": lambda: hvd.reducescatter(send, name=name, op=hvd.Sum),
                "alltoall": lambda: hvd.alltoall(send, name=name)}[collective]

    @staticmethod
    def raw(given):
        tensor = given[0] if isinstance(given, tuple) else given
        return tensor.view(torch.uint8).numpy()


bench_peer.serve(Horovod())
