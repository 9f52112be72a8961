# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Which gradients travel together, and whether every rank has come to the same answer.

Groups and buckets add up only if every rank holds the same parameters in the same order, and the
operation on a bucket sees bytes alone: so the ranks compare a hash of their layouts once.
"""

from __future__ import annotations

import hashlib
from typing import Optional

from . import grad_arena
from .names import Names
from .units import Slot, Transfer, Unit


class Plan:
    """What the user asked for, in terms of slots."""

    def __init__(self, groups: Optional[list[list[Slot]]], arena: Optional[bool],
                 bucket_bytes: int):
        self.groups, self.arena, self.bucket_bytes = groups, arena, bucket_bytes

    def units(self, slots: list[Slot], transfer: Transfer, use_arena: bool,
              prefixes: Names) -> list[Unit]:
        if self.groups is not None:
            units = [self._group(f"{prefixes.own}group.{number}", group, transfer, use_arena)
                     for number, group in enumerate(self.groups)]
        else:
            held = [slot for slot in slots if use_arena and grad_arena.fits(slot)]
            buckets = grad_arena.cut_buckets(held, self.bucket_bytes)
            units = [grad_arena.Bucket(f"{prefixes.own}bucket.{number}", bucket, transfer)
                     for number, bucket in enumerate(buckets)]
        covered = {slot for unit in units for slot in unit.slots}
        return units + [Unit(prefixes.parameter + slot.name, [slot], transfer, grouped=False)
                        for slot in slots if slot not in covered]

    def _group(self, name: str, slots: list[Slot], transfer: Transfer, use_arena: bool) -> Unit:
        if use_arena and all(map(grad_arena.fits, slots)) and len(
                {slot.parameter.dtype for slot in slots}) == 1:
            return grad_arena.Bucket(name, slots, transfer)
        return Unit(name, slots, transfer, grouped=True)


def numbered(unit: Unit) -> bool:
    """Whether its name says nothing about the parameters inside."""
    return unit.grouped or isinstance(unit, grad_arena.Bucket)


def layout(units: list[Unit]) -> list[str]:
    return [f"{unit.name}: {slot.name} {tuple(slot.parameter.shape)} {slot.parameter.dtype}"
            for unit in units for slot in unit.slots]


def layout_hash(units: list[Unit]) -> int:
    digest = hashlib.blake2b("\n".join(layout(units)).encode(), digest_size=8).digest()
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
