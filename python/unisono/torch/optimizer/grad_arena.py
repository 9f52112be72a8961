# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients as views into buckets of the arena, the memory that all ranks of a host map.

A bucket holds the gradients of several parameters one after the other and is reduced in place by
one operation: nothing is packed, and the reduction touches each byte once. Buckets are filled in
reverse order of registration, which is about the order in which backward() finishes gradients.

autograd puts the first gradient of a parameter into a buffer of its own, so the gradient is moved
into the bucket when it is complete, still warm in cache, and ``.grad`` becomes the view. Where a
view is installed already (zero_grad(set_to_none=False), gradient accumulation) autograd adds in
place.

The price: a rank that dies during the reduction leaves the bucket undefined. synchronize() raises
then and drops the gradients, so no step can use them.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, NamedTuple, Optional

import torch

from ...errors import InvalidArgument, OutOfMemory
from .bucket import Bucket
from .tracked import TrackedParameter
from .transfer import Transfer

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


def arena_use(transfer: Transfer, parameters: Iterable[TrackedParameter],
              wanted: Optional[bool]) -> ArenaUse:
    """The decision for one optimizer; it rests on what all ranks of the set have in common."""
    engine = transfer.engine
    if wanted is False:
        return ArenaUse(False, "gradients_in_arena=False was asked for")
    if transfer.local:
        return ArenaUse(False, "this rank exchanges with nobody")
    if transfer.compresses:
        return ArenaUse(False, "compressed gradients are packed on their way")
    if transfer.job.packs:
        return ArenaUse(False, "the job's codec packs every gradient by itself")
    if transfer.job.rules:
        return ArenaUse(False, "codec_rules choose a codec for every parameter by itself")
    if transfer.op.name == "Adasum":
        return ArenaUse(False, "Adasum weighs every gradient by itself")
    if engine.local_size() != engine.size():
        return ArenaUse(False, f"the {engine.size()} ranks are on {engine.cross_size()} hosts")
    if not any(fits(each) for each in parameters):
        return ArenaUse(False, "no parameter is a contiguous floating-point tensor on the CPU")
    return ArenaUse(True, "all ranks are on one host")


def fits(parameter: TrackedParameter) -> bool:
    tensor = parameter.tensor
    return (tensor.device.type == "cpu" and tensor.layout == torch.strided
            and tensor.is_contiguous() and tensor.dtype in _DTYPES and tensor.numel() > 0)


def cut_buckets(parameters: list[TrackedParameter],
                bucket_bytes: int) -> list[list[TrackedParameter]]:
    """Parameters in reverse order, cut where the element type changes or the bytes are reached."""
    buckets: list[list[TrackedParameter]] = []
    room, dtype = 0, None
    for parameter in reversed(parameters):
        size = _span(parameter) * parameter.tensor.element_size()
        if not buckets or parameter.tensor.dtype != dtype or size > room:
            buckets.append([])
            room, dtype = bucket_bytes, parameter.tensor.dtype
        buckets[-1].append(parameter)
        room -= size
    return buckets


def _span(parameter: TrackedParameter) -> int:
    """Elements from the start of this gradient to the start of the next."""
    step = _ALIGN_BYTES // parameter.tensor.element_size()
    return -(-parameter.tensor.numel() // step) * step


def _allocate(engine: Any, count: int, dtype: torch.dtype) -> tuple[torch.Tensor, bool]:
    itemsize = torch.empty((), dtype=dtype).element_size()
    try:
        return torch.from_numpy(engine.arena_empty(count * itemsize, "uint8")).view(dtype), True
    except OutOfMemory:
        # The other ranks send this bucket under the same name, from the arena or not.
        return torch.zeros(count, dtype=dtype), False


class FlatBucket(Bucket):
    """A bucket whose gradients lie side by side in one flat tensor."""

    def __init__(self, name: str, parameters: list[TrackedParameter], transfer: Transfer):
        starts, count = [], 0
        for parameter in parameters:
            starts.append(count)
            count += _span(parameter)
        self.flat, self.in_arena = _allocate(transfer.engine, count, parameters[0].tensor.dtype)
        # By .data each view has a version counter of its own: writing one leaves the others' alone.
        self.views = [
            self.flat[start:start + parameter.tensor.numel()].view(parameter.tensor.shape).data
            for start, parameter in zip(starts, parameters)]
        self._dropped: set[int] = set()
        super().__init__(name, parameters, transfer, grouped=False)
        self.numbered = True

    def _start_anew(self) -> None:
        self.missing = len(self.parameters) - len(self._dropped)
        self.submitted = None
        self._versions: list[Optional[int]] = [None] * len(self.parameters)

    def gradient_ready(self, parameter: TrackedParameter) -> None:
        self._move_in(parameter)
        super().gradient_ready(parameter)

    def drop(self, parameter: TrackedParameter) -> None:
        """The parameter's gradients travel on their own from now on."""
        if self.submitted is not None:
            raise InvalidArgument(f"the gradient of {parameter.name} is sparse, and was dense a "
                                  "step ago; with lag=1 it has to stay what it is")
        self.views[parameter.position].zero_()
        self._dropped.add(parameter.position)
        self.missing -= 1
        if self.missing == 0 and len(self._dropped) < len(self.parameters):
            self.submit()

    def submit(self) -> None:
        if len(self._dropped) == len(self.parameters):
            self.submitted = []
            return
        for position, parameter in enumerate(self.parameters):
            if self._versions[position] is None and position not in self._dropped:
                self._move_in(parameter)
        self.submitted = self.transfer.dense(self.name, [self.flat], grouped=False)

    def _move_in(self, parameter: TrackedParameter) -> None:
        tensor, view = parameter.tensor, self.views[parameter.position]
        gradient = tensor.grad
        if gradient is None:
            view.zero_()
        elif gradient is not view:
            view.copy_(gradient.detach() if gradient.requires_grad else gradient)
        if gradient is not view and tensor.requires_grad:
            tensor.grad = view
        self._versions[parameter.position] = view._version

    def changed(self, lagged: bool) -> Optional[str]:
        for position, parameter in self._installed():
            view = self.views[position]
            installed = lagged or parameter.tensor.grad is view
            if view._version != self._versions[position] or not installed:
                return parameter.name
        return None

    def finish(self) -> None:
        for wait in self.submitted or ():
            wait()
        for position, parameter in self._installed():
            parameter.set_gradient(self.views[position])
        self._start_anew()

    def _installed(self) -> Iterator[tuple[int, TrackedParameter]]:
        for position, parameter in enumerate(self.parameters):
            if position not in self._dropped and parameter.tensor.requires_grad:
                yield position, parameter


__all__ = ["ArenaUse", "BUCKET_BYTES", "FlatBucket", "arena_use", "cut_buckets", "fits"]
