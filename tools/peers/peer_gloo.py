# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gloo under `unisono bench`, through torch.distributed on CPU tensors."""
import os

import numpy as np
import torch
import torch.distributed as dist

import bench_peer

SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


class Gloo:
    def __init__(self):
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        dist.init_process_group("gloo", init_method=os.environ["UNISONO_BENCH_STORE"],
                                rank=self.rank, world_size=self.size)
        self.version = "torch " + torch.__version__

    def barrier(self):
        dist.barrier()

    def prepare(self, collective, dtype, data, output):
        element = getattr(torch, dtype, None)
        if element is None or dtype == "bool" or dtype.startswith("uint") and dtype != "uint8":
            raise bench_peer.Unsupported(f"gloo does not reduce {dtype}")

        def tensor(raw):
            return torch.from_numpy(raw.view(SIGNED[raw.itemsize])).view(element)

        send = tensor(data)
        call = self.calls(collective, send, None if output is None else tensor(output))
        try:
            call()
        except RuntimeError as reason:
            raise bench_peer.Unsupported(f"gloo: {str(reason).splitlines()[0]}") from None
        return call

    def calls(self, collective, send, receive):
        if collective == "allreduce":
            return lambda: dist.all_reduce(send)
        if collective == "broadcast":
            return lambda: dist.broadcast(send, 0)
        if collective == "allgather":
            parts = list(receive.chunk(self.size))
            return lambda: dist.all_gather(parts, send)
        if collective == "reducescatter":
            return lambda: dist.reduce_scatter_tensor(receive, send)
        return lambda: dist.all_to_all_single(receive, send)


bench_peer.serve(Gloo())
