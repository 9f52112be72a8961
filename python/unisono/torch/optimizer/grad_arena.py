# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients as views into buckets of the arena, the memory that all ranks of a host map.

A bucket holds the gradients of several parameters one after the other and is reduced in place by
one operation: nothing is packed, and the reduction touches each byte once. Buckets are filled in
reverse order of registration, which is about the order in which backward() finishes gradients.

autograd gives a parameter without a gradient its own buffer, so the gradient is moved into the
bucket when it arrives, still warm in cache, and ``.grad`` becomes the view. Where a view is
installed already (zero_grad(set_to_none=False), gradient accumulation) autograd adds in place.

The price: a rank that dies during the reduction leaves the bucket undefined. synchronize() raises
then and drops the gradients, so no step can use them.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, NamedTuple, Optional

import torch

from ...errors import InvalidArgument, OutOfMemory
from .units import Slot, Transfer, Unit

BUCKET_BYTES = 16 << 20
_ALIGN_BYTES = 64  # a cache line, so that no view shares one with its neighbour
_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


class ArenaUse(NamedTuple):
    """Whether an optimizer's gradients are views into the arena, and why. True or false by that."""

    used: bool
    reason: str

    def __bool__(self) -> bool:
        return self.used

    def __str__(self) -> str:
        return f"{'yes' if self.used else 'no'}: {self.reason}"


def arena_use(transfer: Transfer, slots: Iterable[Slot], wanted: Optional[bool]) -> ArenaUse:
    """The decision for one optimizer; it rests on what all ranks of the set have in common."""
    engine = transfer.engine
    if wanted is False:
        return ArenaUse(False, "gradients_in_arena=False was asked for")
    if transfer.local:
        return ArenaUse(False, "this rank exchanges with nobody")
    if transfer.compresses:
        return ArenaUse(False, "compressed gradients are packed on their way")
    if transfer.op.name == "Adasum":
        return ArenaUse(False, "Adasum weighs every gradient by itself")
    if engine.local_size() != engine.size():
        return ArenaUse(False, f"the {engine.size()} ranks are on {engine.cross_size()} hosts")
    if not any(fits(slot) for slot in slots):
        return ArenaUse(False, "no parameter is a contiguous floating-point tensor on the CPU")
    return ArenaUse(True, "all ranks are on one host")


def fits(slot: Slot) -> bool:
    p = slot.parameter
    return (p.device.type == "cpu" and p.layout == torch.strided and p.is_contiguous()
            and p.dtype in _DTYPES and p.numel() > 0)


def cut_buckets(slots: list[Slot], bucket_bytes: int) -> list[list[Slot]]:
    """Slots in reverse order, cut where the element type changes or the bytes are reached."""
    buckets: list[list[Slot]] = []
    room, dtype = 0, None
    for slot in reversed(slots):
        size = _span(slot) * slot.parameter.element_size()
        if not buckets or slot.parameter.dtype != dtype or size > room:
            buckets.append([])
            room, dtype = bucket_bytes, slot.parameter.dtype
        buckets[-1].append(slot)
        room -= size
    return buckets


def _span(slot: Slot) -> int:
    """Elements from the start of this gradient to the start of the next."""
    step = _ALIGN_BYTES // slot.parameter.element_size()
    return -(-slot.parameter.numel() // step) * step


def _allocate(engine: Any, count: int, dtype: torch.dtype) -> tuple[torch.Tensor, bool]:
    itemsize = torch.empty((), dtype=dtype).element_size()
    try:
        return torch.from_numpy(engine.arena_empty(count * itemsize, "uint8")).view(dtype), True
    except OutOfMemory:
        # The other ranks send this bucket under the same name, from the arena or not.
        return torch.zeros(count, dtype=dtype), False


class Bucket(Unit):
    """A unit whose gradients lie side by side in one flat tensor."""

    def __init__(self, name: str, slots: list[Slot], transfer: Transfer):
        starts, count = [], 0
        for slot in slots:
            starts.append(count)
            count += _span(slot)
        self.flat, self.in_arena = _allocate(transfer.engine, count, slots[0].parameter.dtype)
        # .data gives each view a version counter of its own: writing one leaves the others' alone.
        self.views = [
            self.flat[start:start + slot.parameter.numel()].view(slot.parameter.shape).data
            for start, slot in zip(starts, slots)]
        self._dropped: set[int] = set()
        super().__init__(name, slots, transfer, grouped=False)

    def _start_anew(self) -> None:
        self.waiting = len(self.slots) - len(self._dropped)
        self.sent = None
        self._versions: list[Optional[int]] = [None] * len(self.slots)

    def arrive(self, slot: Slot) -> None:
        self._move_in(slot)
        super().arrive(slot)

    def drop(self, slot: Slot) -> None:
        """The parameter's gradients travel on their own from now on."""
        if self.sent is not None:
            raise InvalidArgument(f"the gradient of {slot.name} is sparse, and was dense a step "
                                  "ago; with lag=1 it has to stay what it is")
        self.views[slot.place].zero_()
        self._dropped.add(slot.place)
        self.waiting -= 1
        if self.waiting == 0 and len(self._dropped) < len(self.slots):
            self.send()

    def send(self) -> None:
        if len(self._dropped) == len(self.slots):
            self.sent = []
            return
        for place, slot in enumerate(self.slots):
            if self._versions[place] is None and place not in self._dropped:
                self._move_in(slot)
        self.sent = self.transfer.dense(self.name, [self.flat], grouped=False)

    def _move_in(self, slot: Slot) -> None:
        parameter, view = slot.parameter, self.views[slot.place]
        gradient = parameter.grad
        if gradient is None:
            view.zero_()
        elif gradient is not view:
            view.copy_(gradient.detach() if gradient.requires_grad else gradient)
        if gradient is not view and parameter.requires_grad:
            parameter.grad = view
        self._versions[slot.place] = view._version

    def changed(self, lagged: bool) -> Optional[str]:
        for place, slot in self._installed():
            view = self.views[place]
            if view._version != self._versions[place] or not (lagged or
                                                              slot.parameter.grad is view):
                return slot.name
        return None

    def finish(self) -> None:
        for wait in self.sent or ():
            wait()
        for place, slot in self._installed():
            result = self.transfer.given_back(slot, self.views[place])
            if slot.parameter.grad is not result:
                slot.parameter.grad = result
        self._start_anew()

    def _installed(self) -> Iterator[tuple[int, Slot]]:
        for place, slot in enumerate(self.slots):
            if place not in self._dropped and slot.parameter.requires_grad:
                yield place, slot


__all__ = ["ArenaUse", "BUCKET_BYTES", "Bucket", "arena_use", "cut_buckets", "fits"]
