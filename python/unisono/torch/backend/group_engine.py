# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The collectives of a process group, as operations of the engine.

torch's rule is that all ranks of a group make the same calls in the same order, so a call is known
by its number in the group. One count serves all kinds: ranks that make different calls meet under
one name, and the engine tells them so instead of waiting for ever. Such a name says that it was
made up, since it never comes again: nothing that a codec keeps for the next step belongs to it.

The engine reduces and broadcasts in place. It has no gather and no scatter; both are all-to-alls in
which only one rank sends or receives. Tensors travel as rows of a flat view. Operators on bits, which
the engine lacks, are gathers whose rows every rank folds.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Optional, Sequence

import torch
from torch._C._distributed_c10d import ReduceOp

from ... import _core, arrays
from ...engine import Engine
from ...engine_array import EngineArray
from ...errors import InvalidArgument, Mismatch, ShutDown
from . import group_sparse
from .elements import deal, like, movable, named, plain, width
from .work import FutureThread, Work

_KIND = _core.Collective
_OPS = ((ReduceOp.SUM, _core.ReduceOp.Sum), (ReduceOp.AVG, _core.ReduceOp.Average),
        (ReduceOp.MAX, _core.ReduceOp.Max), (ReduceOp.MIN, _core.ReduceOp.Min),
        (ReduceOp.PRODUCT, _core.ReduceOp.Product))
_FOLDS = ((ReduceOp.BAND, torch.bitwise_and), (ReduceOp.BOR, torch.bitwise_or),
          (ReduceOp.BXOR, torch.bitwise_xor))
_OF_REAL_NUMBERS = (ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX)
Finish = Callable[[], Any]
Part = tuple[list[Any], Finish]  # some tickets, and what to do when they are done


class _Destroyed:
    def __getattr__(self, _: str) -> Any:
        raise ShutDown("this process group has been destroyed; make a new one")


class GroupEngine:
    """Collectives on one engine. Thread: any; calls are numbered in the order they come."""

    def __init__(self, engine: Engine, timeout_s: float):
        self.engine: Any = engine
        self.timeout_s = timeout_s
        self.rank, self.size = engine.rank(), engine.size()
        self.futures = FutureThread()
        self.sequence = 0  # how many calls have been numbered
        self._numbers = itertools.count(1)

    def close(self, leave: bool) -> None:
        """Lets go of the engine, and leaves its job if it is this group's own. torch may keep the
        group for good; it must not keep the engine."""
        engine, self.engine = self.engine, _Destroyed()
        self.futures.close()
        if leave and isinstance(engine, Engine):
            engine.shutdown()

    def all_reduce(self, tensors: Sequence[torch.Tensor], op: Any, timeout_s: float,
                   names: Sequence[str] = (), **more: Any) -> Work:
        """names: of dense tensors, where what a codec keeps belongs to them. more: further
        settings of the engine, such as the codec."""
        if any(tensor.is_sparse for tensor in tensors):
            return self._joint("all_reduce", tensors, timeout_s, [
                group_sparse.summed(self, tensor, op) for tensor in tensors])
        fold = _fold_of(op, tensors)
        if fold is not None:
            return self._joint("all_reduce", tensors, timeout_s, [
                self._folded(tensor, fold, tensor.copy_) for tensor in tensors])
        settings = reduction(op, tensors, **more)
        flat = [plain(tensor) for tensor in tensors]
        name = self._name()
        made = [arrays.to_engine(tensor, True) for tensor in flat]
        if len(made) == 1:
            tickets = [self._submit(_KIND.allreduce, names[0] if names else name, made[0], True,
                                    settings)]
        else:
            names = names or [f"{name}.{index}" for index in range(len(made))]
            tickets = self.engine._core.submit_group(
                name, _KIND.allreduce, list(names), [each.dtype for each in made],
                [each.memory for each in made], True, settings)
        restores = [each.restore for each in made if each.restore is not None]
        return self._work(f"all_reduce {name}", tensors, tickets, timeout_s,
                          _all(restores) if restores else None)

    def reduce(self, tensor: torch.Tensor, op: Any, root: int, timeout_s: float) -> Work:
        into = tensor.copy_ if self.rank == root else _forget
        return self._reduced("reduce", tensor, op, into, [tensor], timeout_s)

    def broadcast(self, tensor: torch.Tensor, root: int, timeout_s: float) -> Work:
        ticket, finish = self.move(self._name(), tensor, root)
        return self._work(f"broadcast {ticket.name}", [tensor], [ticket], timeout_s, finish)

    def move(self, name: str, tensor: torch.Tensor, root: int) -> tuple[Any, Optional[Finish]]:
        """A broadcast in place, whatever the tensor's type and strides."""
        seen = movable(tensor)
        array = arrays.to_engine(seen, True)
        ticket = self._submit(_KIND.broadcast, name, array, True, _core.Settings(root=root))
        # The root's tensor is what it was; writing it back would only race with its readers.
        if self.rank == root:
            return ticket, None
        if seen.data_ptr() != tensor.data_ptr():
            return ticket, lambda: tensor.copy_(like(seen, tensor))
        return ticket, array.restore

    def barrier(self, timeout_s: float) -> Work:
        return self.all_reduce([torch.zeros(1, dtype=torch.uint8)], ReduceOp.MAX, timeout_s)

    def all_gather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor,
                   timeout_s: float) -> Work:
        _check_count("all_gather", "outputs", len(outputs), self.size)
        counts = [output.numel() for output in outputs]
        equal = len(set(counts)) == 1
        if counts[self.rank] != tensor.numel():
            raise InvalidArgument(f"all_gather: output {self.rank} has {counts[self.rank]} "
                                  f"elements and the input of rank {self.rank} has {tensor.numel()}")
        _check_dtypes("all_gather", [tensor, *outputs])
        return self._gathered("all_gather", tensor, equal, outputs, timeout_s,
                              lambda all_rows: deal(all_rows, outputs))

    def all_gather_single(self, output: torch.Tensor, tensor: torch.Tensor,
                          timeout_s: float) -> Work:
        if output.numel() != self.size * tensor.numel():
            raise InvalidArgument(
                f"all_gather: the output has {output.numel()} elements; {self.size} ranks with "
                f"{tensor.numel()} each need {self.size * tensor.numel()}")
        _check_dtypes("all_gather", [tensor, output])
        return self._gathered("all_gather", tensor, True, [output], timeout_s,
                              lambda all_rows: output.copy_(like(all_rows, output)))

    def reduce_scatter(self, output: torch.Tensor, inputs: Sequence[torch.Tensor], op: Any,
                       timeout_s: float) -> Work:
        _check_count("reduce_scatter", "inputs", len(inputs), self.size)
        _check_dtypes("reduce_scatter", [output, *inputs])
        counts = [each.numel() for each in inputs]
        if counts[self.rank] != output.numel():
            raise InvalidArgument(f"reduce_scatter: input {self.rank} has {counts[self.rank]} "
                                  f"elements and the output of rank {self.rank} {output.numel()}")
        joined = torch.cat([each.reshape(-1) for each in inputs])
        if len(set(counts)) == 1:
            return self.reduce_scatter_single(output, joined, op, timeout_s)
        # Parts of different sizes: everything is reduced and this rank keeps its own.
        first = sum(counts[:self.rank])

        def keep(reduced: torch.Tensor) -> None:
            output.copy_(like(reduced[first:first + output.numel()], output))

        return self._reduced("reduce_scatter", joined, op, keep, [output], timeout_s)

    def reduce_scatter_single(self, output: torch.Tensor, tensor: torch.Tensor, op: Any,
                              timeout_s: float) -> Work:
        if tensor.numel() != self.size * output.numel():
            raise InvalidArgument(
                f"reduce_scatter: the input has {tensor.numel()} elements; {self.size} ranks that "
                f"keep {output.numel()} each need {self.size * output.numel()}")
        _check_dtypes("reduce_scatter", [output, tensor])
        if _fold_of(op, [tensor]) is not None:
            def keep(reduced: torch.Tensor) -> None:
                output.copy_(like(reduced.reshape(self.size, -1)[self.rank], output))
            return self._reduced("reduce_scatter", tensor, op, keep, [output], timeout_s)
        rows = plain(tensor).reshape(self.size, -1)
        ticket, wrap = self._rows(_KIND.reducescatter, rows, reduction(op, [tensor]))
        return self._work(f"reduce_scatter {ticket.name}", [output], [ticket], timeout_s,
                          lambda: output.copy_(like(wrap(ticket), output)))

    def exchange(self, what: str, sent: torch.Tensor, send_counts: Sequence[int],
                 outputs: Sequence[torch.Tensor], receive_counts: Sequence[int],
                 timeout_s: float) -> Work:
        """An all-to-all of elements; what arrives fills the outputs one after another."""
        _check_dtypes(what, [sent, *outputs])
        flat = movable(sent).reshape(-1)
        scale = width(sent)
        settings = _core.Settings(splits=[count * scale for count in send_counts])
        ticket, wrap = self._rows(_KIND.alltoall, flat, settings)

        def finish() -> None:
            got, wanted = [count // scale for count in ticket.splits], list(receive_counts)
            if got != wanted:
                rank = next(i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1])
                raise Mismatch(f"{what}: rank {rank} of the group sent {got[rank]} elements to "
                               f"rank {self.rank}, which expects {wanted[rank]}; make the sizes agree")
            deal(wrap(ticket), outputs)

        return self._work(f"{what} {ticket.name}", outputs, [ticket], timeout_s, finish)

    def _gathered(self, what: str, tensor: torch.Tensor, equal: bool,
                  outputs: Sequence[torch.Tensor], timeout_s: float,
                  into: Callable[[torch.Tensor], Any]) -> Work:
        flat = movable(tensor).reshape(-1)
        # As one row the sizes are checked across ranks; as many, they may differ.
        ticket, wrap = self._rows(_KIND.allgather, flat.reshape(1, -1) if equal else flat,
                                  _core.Settings())
        return self._work(f"{what} {ticket.name}", outputs, [ticket], timeout_s,
                          lambda: into(wrap(ticket)))

    def _reduced(self, what: str, tensor: torch.Tensor, op: Any, into: Callable[..., Any],
                 outputs: Sequence[torch.Tensor], timeout_s: float) -> Work:
        """An allreduce, with any operator, whose result goes elsewhere."""
        fold = _fold_of(op, [tensor])
        if fold is not None:
            return self._joint(what, outputs, timeout_s, [self._folded(tensor, fold, into)])
        ticket, wrap = self._rows(_KIND.allreduce, plain(tensor), reduction(op, [tensor]))
        return self._work(f"{what} {ticket.name}", outputs, [ticket], timeout_s,
                          lambda: into(like(wrap(ticket), tensor)))

    def gathering(self, tensor: torch.Tensor) -> tuple[Any, Callable[..., Any]]:
        """A gather of rows, as many as each rank has, in the engine's element types."""
        return self._rows(_KIND.allgather, movable(tensor), _core.Settings())

    def _folded(self, tensor: torch.Tensor, fold: Callable[..., Any],
                into: Callable[..., Any]) -> Part:
        ticket, wrap = self._rows(_KIND.allgather, tensor.reshape(1, -1), _core.Settings())

        def finish() -> None:
            rows = wrap(ticket)
            result = rows[0].clone()
            for row in rows[1:]:
                fold(result, row, out=result)
            into(like(result, tensor))

        return [ticket], finish

    def _joint(self, what: str, outputs: Sequence[torch.Tensor], timeout_s: float,
               parts: Sequence[Part]) -> Work:
        tickets = [ticket for own, _ in parts for ticket in own]
        return self._work(f"{what} {tickets[0].name}", outputs, tickets, timeout_s,
                          _all([finish for _, finish in parts]))

    def _rows(self, kind: Any, tensor: torch.Tensor,
              settings: Any) -> tuple[Any, Callable[..., Any]]:
        array = arrays.to_engine(tensor, False)
        return self._submit(kind, self._name(), array, False, settings), array.wrap

    def _submit(self, kind: Any, name: str, array: EngineArray, in_place: bool,
                settings: Any) -> Any:
        return self.engine._core.submit(kind, name, array.dtype, array.memory, in_place, settings)

    def _name(self) -> str:
        self.sequence = number = next(self._numbers)
        return f"call.noname.{number}"

    def _work(self, what: str, outputs: Sequence[torch.Tensor], tickets: Sequence[Any],
              timeout_s: float, finish: Optional[Finish] = None) -> Work:
        return Work(what, outputs, self.futures, timeout_s, tickets, finish)


def reduction(op: Any, tensors: Sequence[torch.Tensor], **more: Any) -> Any:
    """The engine's settings for one of torch's operators on these tensors."""
    if op == ReduceOp.AVG and any(tensor.dtype == torch.bool for tensor in tensors):
        raise InvalidArgument("torch.bool has no average; cast to a number, or use MAX or MIN")
    if any(op == each for each in _OF_REAL_NUMBERS) and any(tensor.is_complex() for tensor in tensors):
        # As pairs of real numbers, which is how complex ones travel, they would come out wrong.
        raise InvalidArgument(f"complex numbers are reduced with SUM, AVG and PREMUL_SUM, not "
                              f"{named(op)}")
    for theirs, ours in _OPS:
        if op == theirs:
            return _core.Settings(op=ours, **more)
    if op == ReduceOp.PREMUL_SUM:
        return _core.Settings(op=_core.ReduceOp.Sum, prescale=float(op.__getstate__()[1]), **more)
    raise InvalidArgument(f"the backend unisono has no reduction {named(op)}; it has SUM, AVG, PRODUCT, "
                          "MIN, MAX, BAND, BOR, BXOR and PREMUL_SUM with a number")


def _fold_of(op: Any, tensors: Sequence[torch.Tensor]) -> Optional[Callable[..., Any]]:
    fold = next((fold for theirs, fold in _FOLDS if op == theirs), None)
    for tensor in tensors if fold is not None else ():
        if tensor.is_floating_point() or tensor.is_complex():
            raise InvalidArgument(f"{named(op)} combines whole numbers and truth values, and "
                                  f"the tensor is of {tensor.dtype}; cast it, or use another "
                                  "operator")
    return fold


def _forget(_: torch.Tensor) -> None:
    pass


def _all(finishes: Sequence[Finish]) -> Finish:
    def run() -> None:
        for finish in finishes:
            finish()
    return run


def _check_count(what: str, noun: str, given: int, size: int) -> None:
    if given != size:
        raise InvalidArgument(f"{what}: {given} {noun} were given for {size} ranks; give one each")


def _check_dtypes(what: str, tensors: Sequence[torch.Tensor]) -> None:
    for tensor in tensors[1:]:
        if tensor.dtype != tensors[0].dtype:
            raise InvalidArgument(f"{what}: inputs and outputs have different types, "
                                  f"{tensors[0].dtype} and {tensor.dtype}; make them equal")
