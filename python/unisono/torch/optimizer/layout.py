# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Which gradients travel together, and whether every rank has come to the same answer.

Groups and buckets add up only if every rank holds the same parameters in the same order, and the
operation on a bucket sees bytes alone: so the ranks compare a hash of their layouts once.
"""

from __future__ import annotations

import hashlib
from typing import Optional

import numpy as np

from ...engine import ReduceOp
from ...errors import Mismatch
from ...handle import Handle
from . import grad_arena
from .bucket import Bucket
from .names import Names
from .tracked import TrackedParameter
from .transfer import Transfer


class Plan:
    """What the user asked for, in terms of parameters."""

    def __init__(self, groups: Optional[list[list[TrackedParameter]]], arena: Optional[bool],
                 bucket_bytes: int):
        self.groups, self.arena, self.bucket_bytes = groups, arena, bucket_bytes

    def buckets(self, parameters: list[TrackedParameter], transfer: Transfer, use_arena: bool,
                prefixes: Names) -> list[Bucket]:
        buckets: list[Bucket]
        if self.groups is not None:
            buckets = [self._group(f"{prefixes.own}group.{number}", group, transfer, use_arena,
                                   prefixes.parameter)
                       for number, group in enumerate(self.groups)]
        else:
            held = [each for each in parameters if use_arena and grad_arena.fits(each)]
            cut = grad_arena.cut_buckets(held, self.bucket_bytes)
            buckets = [grad_arena.FlatBucket(f"{prefixes.own}bucket.{number}", each, transfer)
                       for number, each in enumerate(cut)]
        covered = {each for bucket in buckets for each in bucket.parameters}
        return buckets + [Bucket(prefixes.parameter + each.name, [each], transfer, grouped=False)
                          for each in parameters if each not in covered]

    def _group(self, name: str, parameters: list[TrackedParameter], transfer: Transfer,
               use_arena: bool, prefix: str) -> Bucket:
        if use_arena and all(map(grad_arena.fits, parameters)) and len(
                {each.tensor.dtype for each in parameters}) == 1:
            return grad_arena.FlatBucket(name, parameters, transfer)
        return Bucket(name, parameters, transfer, grouped=True, prefix=prefix)


class LayoutCheck:
    """Compares the layouts of all ranks, once for each engine."""

    def __init__(self, buckets: list[Bucket], transfer: Transfer, prefix: str):
        self._buckets, self._transfer, self._prefix = buckets, transfer, prefix
        self._handle: Optional[Handle] = None
        # A bucket of one parameter bears its name, which the engine compares; others are numbered.
        self._agreed = transfer.local or not any(bucket.numbered for bucket in buckets)

    def begin(self) -> None:
        """Asks the other ranks, unless that has been done. Does not wait."""
        if self._agreed or self._handle is not None:
            return
        # The largest of h and of its complement tell whether all are equal, and a rank that has
        # joined already need not take part.
        mine = np.array([layout_hash(self._buckets)])
        self._handle = self._transfer.engine.allreduce_async(
            np.concatenate([mine, ~mine]), name=f"{self._prefix}layout", op=ReduceOp.Max,
            process_set=self._transfer.process_set, codec="none")

    def confirm(self) -> None:
        """Waits for the answer; raises Mismatch on every rank unless all are laid out alike."""
        if self._handle is None:
            return
        largest, smallest = self._handle.wait() ^ np.array([0, -1])
        self._handle, self._agreed = None, bool(largest == smallest)
        if self._agreed:
            return
        layouts = self._transfer.engine.allgather_object(
            layout(self._buckets), name=f"{self._prefix}layouts",
            process_set=self._transfer.process_set)
        raise Mismatch(layout_difference(layouts))


def layout(buckets: list[Bucket]) -> list[str]:
    return [f"{bucket.name}: {each.name} {tuple(each.tensor.shape)} {each.tensor.dtype}"
            for bucket in buckets for each in bucket.parameters]


def layout_hash(buckets: list[Bucket]) -> int:
    digest = hashlib.blake2b("\n".join(layout(buckets)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def layout_difference(layouts: list[list[str]]) -> str:
    first = layouts[0]
    for rank, other in enumerate(layouts):
        for mine, theirs in zip(first + ["nothing"], other + ["nothing"]):
            if mine != theirs:
                return (f"Mismatched optimizers: at the same place rank 0 of the set has {mine}, "
                        f"but rank {rank} has {theirs}. Give DistributedOptimizer the same "
                        "parameters in the same order on every rank.")
    return "Mismatched optimizers: the ranks' parameters differ."
