# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How a gradient travels by a schedule: cut into parts, urgent ones first, or in two phases.

Parts are named NAME/part.N and are views of the gradient, so nothing is copied. The second phase of
NAME is named NAME/gather, so that errors, plans and timelines tell the two apart.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch

from ....engine import Engine, ReduceOp
from ....handle import Handle
from ...compression import has_factors
from ..transfer import Finish, Transfer

# Below this a gradient costs its latency, which one allreduce pays once and two phases pay twice.
_ONE_PHASE_BYTES = 64 << 10


def make_transfer(schedule: str, priority_of: Callable[[str], int], partition_bytes: int,
                  *arguments: Any) -> Transfer:
    kind = PartTransfer if schedule == "priority" else TwoPhaseTransfer
    return kind(priority_of, partition_bytes, *arguments)


class PartTransfer(Transfer):
    """An allreduce for each part of a gradient, with the priority of its parameter."""

    def __init__(self, priority_of: Callable[[str], int], partition_bytes: int, *arguments: Any):
        super().__init__(*arguments)
        self._priority_of, self._partition_bytes = priority_of, partition_bytes

    def _send(self, name: str, tensors: list[torch.Tensor], within: Optional[list[str]],
              grouped: bool, codec: str) -> list[Finish]:
        assert not grouped, "with a schedule every gradient travels by itself"
        return [self._send_one(name, tensors[0], codec)]

    def _send_one(self, name: str, tensor: torch.Tensor, codec: str) -> Finish:
        keywords = {**self._keywords, "codec": codec} if codec else self._keywords
        # Adasum weighs a gradient as a whole, and parts of a matrix have no low rank.
        whole = self.op == ReduceOp.Adasum or has_factors(codec or self.job.codec)
        parts = cut(tensor, None if whole else self._partition_bytes)
        priority = self._priority_of(name)
        return Reduced(tensor, [
            self.engine.allreduce_async_(part, name=part_name, priority=priority, **keywords)
            for part_name, part in named(name, parts)])


class TwoPhaseTransfer(PartTransfer):
    """A reduce-scatter of each part during backward(), an all-gather during the next forward."""

    def _send_one(self, name: str, tensor: torch.Tensor, codec: str) -> Finish:
        if tensor.numel() * tensor.element_size() < _ONE_PHASE_BYTES:
            return super()._send_one(name, tensor, codec)
        return Scattered(self.engine, name, tensor, self._partition_bytes, self._keywords)


class Reduced:
    """Parts that are being reduced in place."""

    def __init__(self, tensor: torch.Tensor, handles: list[Handle]):
        self._tensor, self._handles = tensor, handles

    def done(self) -> bool:
        return all(handle.done() for handle in self._handles)

    def __call__(self) -> torch.Tensor:
        for handle in self._handles:
            handle.wait()
        return self._tensor


class Scattered:
    """Parts of which each rank gets a chunk reduced, and then everybody all chunks."""

    def __init__(self, engine: Engine, name: str, tensor: torch.Tensor, partition_bytes: int,
                 keywords: dict[str, Any]):
        self._engine, self._name, self._tensor = engine, name, tensor
        self._process_set = keywords["process_set"]
        self._flat = tensor.reshape(-1)  # a copy where the gradient is strided
        self._parts = cut(self._flat, partition_bytes)
        self._scatters = [engine.reducescatter_async(part, name=part_name, **keywords)
                          for part_name, part in named(name, self._parts)]
        self._gathers: Optional[list[Handle]] = None

    def gather(self) -> None:
        """Waits for this rank's chunks, and begins to exchange them. Does not wait for that."""
        if self._gathers is None:
            chunks = [handle.wait() for handle in self._scatters]
            self._gathers = [
                self._engine.allgather_async(chunk, name=part_name, process_set=self._process_set)
                for part_name, chunk in named(f"{self._name}/gather", chunks)]

    def done(self) -> bool:
        return self._gathers is not None and all(handle.done() for handle in self._gathers)

    def __call__(self) -> torch.Tensor:
        self.gather()
        for part, handle in zip(self._parts, self._gathers or ()):
            part.copy_(handle.wait())
        if self._flat.data_ptr() != self._tensor.data_ptr():
            self._tensor.copy_(self._flat.view_as(self._tensor))
        return self._tensor


def cut(tensor: torch.Tensor, partition_bytes: Optional[int]) -> list[torch.Tensor]:
    """The tensor in parts of so many bytes at most, as views of one dimension; itself where it is
    not larger, or strided."""
    rows = max(1, (partition_bytes or 0) // tensor.element_size())
    if partition_bytes is None or tensor.numel() <= rows or not tensor.is_contiguous():
        return [tensor]
    flat = tensor.view(-1)
    return [flat[start:start + rows] for start in range(0, flat.numel(), rows)]


def named(name: str, parts: list[torch.Tensor]) -> list[tuple[str, torch.Tensor]]:
    if len(parts) == 1:
        return [(name, parts[0])]
    return [(f"{name}/part.{number}", part) for number, part in enumerate(parts)]
