# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients that travel together: one parameter's, or a group's.

A unit is sent when the last of its gradients has arrived, or at synchronize() with zeros for those
that never came: another rank may have computed them.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional

import torch

from ... import default
from ...engine import Engine, ReduceOp
from ...errors import Forked, NotInitialized
from ...handle import Handle
from ..compression import codec_for, compressor_of

Finish = Callable[[], torch.Tensor]


class Slot:
    """A parameter of the optimizer, and how far its gradient is."""

    __slots__ = ("parameter", "name", "left", "unit", "place", "sparse")

    def __init__(self, parameter: torch.Tensor, name: str, passes: int):
        self.parameter, self.name, self.left = parameter, name, passes
        self.unit = self.place = 0  # the unit's number in each lane, and the place in that unit
        self.sparse = 0  # how many dimensions of its last gradient were sparse


class Transfer:
    """How tensors are combined: the operator, its factors, the compression and the ranks."""

    def __init__(self, engine: Engine, process_set: Any, op: ReduceOp, predivide: float,
                 compression: Any, sparse_as_dense: bool, local: bool):
        self.engine, self.process_set, self.op, self.local = engine, process_set, op, local
        self.compression, self.sparse_as_dense = compression, sparse_as_dense
        self._keywords = dict(op=op, process_set=process_set)
        if predivide != 1.0:
            self._keywords.update(prescale_factor=1.0 / predivide, postscale_factor=predivide)
        self.compresses = codec_for(compression, torch.float32) != ""
        if self.compresses and codec_for(compression, torch.float32) is None:
            compressor_of(compression)  # raises here, not in backward(), when it is none

    def stale(self) -> bool:
        """Whether the job has re-formed since, around another engine."""
        try:
            return self.engine is not engine_of(self.process_set)
        except (NotInitialized, Forked):
            return True

    def dense(self, name: str, tensors: list[torch.Tensor], grouped: bool) -> list[Finish]:
        """Combines the tensors in place; each of the calls returned waits for one of them."""
        if self.local:
            return [functools.partial(_as_is, tensor) for tensor in tensors]
        codecs = {codec_for(self.compression, tensor.dtype) for tensor in tensors}
        codec = codecs.pop() if len(codecs) == 1 else None
        if codec is not None:
            return self._send(name, tensors, grouped, codec)
        compressor = compressor_of(self.compression)
        packed = [compressor.compress(tensor) for tensor in tensors]
        sent = self._send(name, [small for small, _ in packed], grouped, "")
        return [_unpacking(compressor, tensor, context, wait)
                for tensor, (_, context), wait in zip(tensors, packed, sent)]

    def sparse(self, name: str, tensor: torch.Tensor) -> Finish:
        if self.local:
            return lambda: tensor
        from ..sparse import sparse_allreduce_async
        return sparse_allreduce_async(tensor, name, self.op, process_set=self.process_set)

    def given_back(self, slot: Slot, result: torch.Tensor) -> torch.Tensor:
        """What .grad becomes: sparse where autograd gave a sparse one, whichever way it travelled,
        for some optimizers take no other."""
        return result.to_sparse(slot.sparse) if slot.sparse and not result.is_sparse else result

    def _send(self, name: str, tensors: list[torch.Tensor], grouped: bool,
              codec: str) -> list[Finish]:
        keywords = {**self._keywords, "codec": codec} if codec else self._keywords
        if not grouped:
            return [self.engine.allreduce_async_(tensors[0], name=name, **keywords).wait]
        handle = self.engine.grouped_allreduce_async_(tensors, name=name, **keywords)
        return [functools.partial(_one_of, handle, place) for place in range(len(tensors))]


def _as_is(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _one_of(handle: Handle, place: int) -> torch.Tensor:
    return handle.wait()[place]


def _unpacking(compressor: Any, tensor: torch.Tensor, context: Any, wait: Finish) -> Finish:
    def finish() -> torch.Tensor:
        result = compressor.decompress(wait(), context)
        return tensor if result is tensor else tensor.copy_(result)

    return finish


def engine_of(process_set: Any) -> Engine:
    """The engine that the set is registered with; the default one for the whole job."""
    return getattr(process_set, "_engine", None) or default.engine()


class Unit:
    """Gradients of some parameters on one lane: arrive, are sent as one operation, finish."""

    in_arena = False

    def __init__(self, name: str, slots: list[Slot], transfer: Transfer, grouped: bool):
        self.name, self.slots, self.transfer, self.grouped = name, slots, transfer, grouped
        self._start_anew()

    def _start_anew(self) -> None:
        self.waiting = len(self.slots)
        # None before send(); then what finish() waits for, each in the form of its class.
        self.sent: Optional[list[Any]] = None

    def arrive(self, slot: Slot) -> None:
        self.waiting -= 1
        if self.waiting == 0:
            self.send()

    def send(self) -> None:
        dense: list[tuple[Slot, torch.Tensor]] = []
        sparse: list[tuple[Slot, torch.Tensor]] = []
        for slot in self.slots:
            gradient = _gradient(slot, self.transfer.sparse_as_dense)
            if gradient is not None:
                (sparse if gradient.is_sparse else dense).append((slot, gradient))
        self.sent = [(slot, gradient, gradient._version,
                      self.transfer.sparse(self._name_of(slot), gradient))
                     for slot, gradient in sparse]
        if dense:
            calls = self.transfer.dense(self.name, [each for _, each in dense], self.grouped)
            self.sent += [(slot, gradient, gradient._version, call)
                          for (slot, gradient), call in zip(dense, calls)]

    def _name_of(self, slot: Slot) -> str:
        return f"{self.name}.{slot.name}" if self.grouped else self.name

    def changed(self, lagged: bool) -> Optional[str]:
        """The name of a gradient that the program wrote to while it was under way."""
        for slot, gradient, version, _ in self.sent or ():
            if gradient._version != version or not (lagged or slot.parameter.grad is gradient):
                return slot.name
        return None

    def finish(self) -> None:
        """Waits, and makes the results the parameters' gradients."""
        for slot, _, _, wait in self.sent or ():
            result = self.transfer.given_back(slot, wait())
            if slot.parameter.grad is not result and slot.parameter.requires_grad:
                slot.parameter.grad = result
        self._start_anew()

    def abandon(self) -> None:
        self._start_anew()


def _gradient(slot: Slot, as_dense: bool) -> Optional[torch.Tensor]:
    """The gradient to send: zeros when there is none, None when the parameter is frozen."""
    parameter = slot.parameter
    if parameter.grad is None:
        if not parameter.requires_grad:
            return None
        parameter.grad = _zeros(slot)
    if parameter.grad.requires_grad:
        parameter.grad = parameter.grad.detach()  # made with create_graph; results carry no graph
    slot.sparse = parameter.grad.sparse_dim() if parameter.grad.is_sparse else 0
    if slot.sparse and as_dense:
        parameter.grad = parameter.grad.to_dense()
    return parameter.grad


def _zeros(slot: Slot) -> torch.Tensor:
    parameter = slot.parameter
    if not slot.sparse:
        return torch.zeros_like(parameter)
    indices = torch.empty((slot.sparse, 0), dtype=torch.int64)
    values = torch.empty((0, *parameter.shape[slot.sparse:]), dtype=parameter.dtype)
    return torch.sparse_coo_tensor(indices, values, parameter.shape)
