# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""One rank of a peer under measurement by `unisono bench`.

Takes work from the orchestrator's socket, one JSON object per line, until told to quit, and blocks
in recv between jobs so that an idle peer uses no CPU. Buffers are raw bits with the contents that
tools/bench/pattern.hpp describes; a peer sees them through its own element type.
"""
import json
import os
import socket
import time

import numpy as np

MANTISSA_AND_BIAS = {"float32": (23, 127), "float64": (52, 1023), "float16": (10, 15),
                     "bfloat16": (7, 127)}
RAW = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
BARRIER_EACH_BYTES = 64 << 10


class Unsupported(Exception):
    """The peer has no such collective or element type."""


def item_size(dtype):
    digits = "".join(c for c in dtype.split("_")[0] if c.isdigit())
    return int(digits) // 8 if digits else 1


def encode_small(dtype, value):
    """The bits of a small non-negative integer as one element."""
    if dtype not in MANTISSA_AND_BIAS or value == 0:
        return value
    mantissa, bias = MANTISSA_AND_BIAS[dtype]
    exponent = value.bit_length() - 1
    fraction = ((value - (1 << exponent)) << mantissa) >> exponent
    return ((exponent + bias) << mantissa) | fraction


def ranks_checkable(dtype):
    mantissa = MANTISSA_AND_BIAS.get(dtype, (0, 0))[0]
    if dtype == "bool" or mantissa >= 23:
        return 65536
    if mantissa > 0:
        return 2 << mantissa
    return 127 if item_size(dtype) == 1 else 32767


class Pattern:
    def __init__(self, collective, dtype, elements, ranks, rank):
        self.collective, self.dtype, self.elements = collective, dtype, elements
        self.ranks, self.rank = ranks, rank
        self.modulus = 2 if dtype == "bool" else max(2, min(5, ranks_checkable(dtype) // ranks + 1))
        self.raw = RAW[item_size(dtype)]
        self.stride = 4096 // item_size(dtype)

    def total(self, values):
        return min(1, sum(values)) if self.dtype == "bool" else sum(values)

    def value(self, source, j, seed):
        if source >= 0:
            return (j + 3 * source + seed) % self.modulus
        return self.total([self.value(r, j, seed) for r in range(self.ranks)])

    def touched(self, source, seed, iteration):
        if source >= 0:
            return (source + iteration + seed) % self.modulus
        return self.total([self.touched(r, seed, iteration) for r in range(self.ranks)])

    def whole(self, source, seed, iteration):
        period = [encode_small(self.dtype, self.value(source, j, seed))
                  for j in range(self.modulus)]
        array = np.resize(np.array(period, dtype=self.raw), self.elements)
        array[::self.stride] = encode_small(self.dtype, self.touched(source, seed, iteration))
        return array

    def touch(self, array, seed, iteration):
        array[::self.stride] = encode_small(self.dtype, self.touched(self.rank, seed, iteration))

    def right(self, result, seed, iteration):
        share = self.elements // self.ranks
        mine = slice(self.rank * share, (self.rank + 1) * share)
        everyone = range(self.ranks)
        if self.collective == "broadcast":
            parts = [self.whole(0, seed, iteration)]
        elif self.collective == "reducescatter":
            parts = [self.whole(-1, seed, iteration)[mine]]
        elif self.collective == "allgather":
            parts = [self.whole(r, seed, iteration) for r in everyone]
        elif self.collective == "alltoall":
            parts = [self.whole(r, seed, iteration)[mine] for r in everyone]
        else:
            parts = [self.whole(-1, seed, iteration)]
        return bool(np.array_equal(np.concatenate(parts) if len(parts) > 1 else parts[0], result))


class Worker:
    """peer: rank, size, version, barrier(), prepare(collective, dtype, input, output) -> call.

    prepare gets raw arrays, output None where the collective works in place, and gives a function
    that runs the collective once. A peer whose collectives give new tensors has raw(tensor) too.
    """

    def __init__(self, peer):
        self.peer = peer

    def set_up(self, work):
        self.collective, dtype = work["collective_name"], work["dtype_name"]
        elements, ranks = work["elements"], self.peer.size
        self.pattern = Pattern(self.collective, dtype, elements, ranks, self.peer.rank)
        self.input = self.pattern.whole(self.peer.rank, 0, 0)
        sizes = {"allgather": elements * ranks, "reducescatter": elements // ranks,
                 "alltoall": elements}
        self.output = None
        if self.collective in sizes:
            self.output = np.zeros(sizes[self.collective], dtype=self.pattern.raw)
        self.call = self.peer.prepare(self.collective, dtype, self.input, self.output)
        return {"ok": True}

    def run_block(self, iterations, seed):
        pattern, call, data, peer = self.pattern, self.call, self.input, self.peer
        in_place = self.collective == "allreduce"
        source = pattern.whole(peer.rank, seed, 0)
        if not in_place:
            np.copyto(data, source)
        touches = self.collective != "broadcast" or peer.rank == 0
        barrier_each = data.nbytes >= BARRIER_EACH_BYTES
        result = data if self.output is None else self.output
        now, times, checked = time.perf_counter_ns, [], True
        peer.barrier()
        begin = now()
        for i in range(iterations):
            if in_place:
                np.copyto(data, source)
            if touches:
                pattern.touch(data, seed, i)
            if barrier_each:
                peer.barrier()
            start = now()
            given = call()
            times.append(now() - start)
            if i in (0, iterations - 1):
                found = peer.raw(given) if hasattr(peer, "raw") else result
                checked = pattern.right(found.view(pattern.raw), seed, i) and checked
        answer = {"ok": True, "checked": checked}
        if peer.rank == 0:
            answer["wall_us"] = (now() - begin) / 1000
            answer["times_us"] = [t / 1000 for t in times]
        return answer

    def answer(self, message):
        try:
            if message["op"] == "setup":
                return self.set_up(message)
            return self.run_block(message["iterations"], message["seed"])
        except Unsupported as reason:
            return {"unsupported": str(reason)}
        except Exception as trouble:  # the orchestrator reports it, whatever it is
            return {"error": f"{type(trouble).__name__}: {trouble}"}


def serve(peer):
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel.connect("\0" + os.environ["UNISONO_BENCH_SOCKET"])
    stream = channel.makefile("rw", encoding="utf-8", newline="\n")

    def send(message):
        stream.write(json.dumps(message) + "\n")
        stream.flush()

    send({"group": int(os.environ["UNISONO_BENCH_GROUP"]), "rank": peer.rank, "size": peer.size,
          "version": peer.version})
    worker = Worker(peer)
    for line in stream:
        message = json.loads(line)
        if message["op"] == "quit":
            break
        send(worker.answer(message))
