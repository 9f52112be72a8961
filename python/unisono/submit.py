# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How a call becomes operations of the compiled engine, and how their results come back."""

from __future__ import annotations

import collections
import itertools
from typing import Any, Iterator, Optional, Sequence, Union

from . import _core, arrays
from ._core import ReduceOp
from .engine_array import EngineArray
from .errors import InvalidArgument
from .groups import chosen_groups
from .handle import Handle
from .process_set import ProcessSet, identity_of

Tensor = Any
AnySet = Union[ProcessSet, int]
Groups = Sequence[Sequence[int]]
_KIND = _core.Collective
# Enough for any model; a scale that changes with every step cannot fill the memory.
_REDUCTIONS_KEPT = 256


def chosen_operator(average: Optional[bool], op: Optional[ReduceOp]) -> ReduceOp:
    if op is None:
        return ReduceOp.Sum if average is False else ReduceOp.Average
    if average is not None:
        raise InvalidArgument("give op or average, not both")
    return op


class Submitter:
    """The side of unisono.Engine that the compiled engine sees. Thread: any."""

    def __init__(self, core: _core.Engine):
        self._core = core
        # One count per process set: ranks outside a set do not see its unnamed operations.
        self._unnamed: dict[int, Iterator[int]] = collections.defaultdict(itertools.count)
        # Calls differ in few ways and repeat them for every tensor.
        self._reductions: dict[tuple[Any, ...], _core.Settings] = {}

    def _settings(self, process_set: AnySet, **fields: Any) -> _core.Settings:
        return _core.Settings(process_set=identity_of(process_set), **fields)

    def _reduction(self, process_set: AnySet, op: ReduceOp, prescale: float, postscale: float,
                   priority: int = 0, codec: str = "",
                   keep_inputs: bool = False, team: int = 0) -> _core.Settings:
        key = (identity_of(process_set), op, prescale, postscale, priority, codec, keep_inputs,
               team)
        settings = self._reductions.get(key)
        if settings is None:
            if len(self._reductions) >= _REDUCTIONS_KEPT:
                self._reductions.clear()
            settings = self._reductions[key] = _core.Settings(
                process_set=key[0], op=op, prescale=prescale, postscale=postscale,
                priority=priority, codec=codec, keep_inputs=keep_inputs, team=team)
        return settings

    def _base_name(self, call: str, name: Optional[str],
                   settings: Union[_core.Settings, _core.SparseSettings]) -> str:
        if name is None:
            return f"{call}.noname.{next(self._unnamed[settings.process_set])}"
        return f"{call}.{name}"

    def _allreduce(self, tensor: Tensor, in_place: bool, name: Optional[str],
                   op: Optional[ReduceOp], average: Optional[bool], prescale: float,
                   postscale: float, process_set: AnySet, priority: int, codec: str,
                   keep_inputs: bool = False, team: int = 0) -> Handle:
        settings = self._reduction(process_set, chosen_operator(average, op), prescale, postscale,
                                   priority, codec, keep_inputs, team)
        return self._submit(_KIND.allreduce, tensor, in_place, name, settings)

    def _grouped_allreduce(self, tensors: Sequence[Tensor], in_place: bool, name: Optional[str],
                           op: Optional[ReduceOp], average: Optional[bool], prescale: float,
                           postscale: float, process_set: AnySet, num_groups: Optional[int],
                           groups: Optional[Groups], codec: str,
                           keep_inputs: bool = False, team: int = 0) -> Handle:
        settings = self._reduction(process_set, chosen_operator(average, op), prescale, postscale,
                                   codec=codec, keep_inputs=keep_inputs, team=team)
        tensors = list(tensors)
        runs = chosen_groups(len(tensors), num_groups, groups)
        return self._submit_group(_KIND.allreduce, tensors, in_place, name, settings, runs)

    def _named_group(self, tensors: Sequence[Tensor], name: str, names: Sequence[str],
                     op: ReduceOp, process_set: AnySet, prescale_factor: float = 1.0,
                     postscale_factor: float = 1.0, codec: str = "", team: int = 0) -> Handle:
        """An allreduce in place of a group whose tensors have names of their own, by which codecs
        keep what they have not sent, whatever group a tensor is in."""
        settings = self._reduction(process_set, op, prescale_factor, postscale_factor, codec=codec,
                                   team=team)
        return self._submit_group(_KIND.allreduce, tensors, True, name, settings, names=names)

    def _submit(self, kind: _core.Collective, tensor: Tensor, in_place: bool, name: Optional[str],
                settings: _core.Settings, with_splits: bool = False) -> Handle:
        array = arrays.to_engine(tensor, in_place)
        ticket = self._core.submit(kind, self._base_name(kind.name, name, settings), array.dtype,
                                   array.memory, in_place, settings)
        if in_place and array.restore is None:
            return Handle([ticket], None, tensor)

        def finish() -> Any:
            if in_place:
                return _written(array, tensor)
            result = array.wrap(ticket)
            return (result, array.rows(ticket.splits)) if with_splits else result

        return Handle([ticket], finish)

    def _submit_group(self, kind: _core.Collective, tensors: Sequence[Tensor], in_place: bool,
                      name: Optional[str], settings: _core.Settings,
                      runs: Optional[list[list[int]]] = None,
                      names: Optional[Sequence[str]] = None) -> Handle:
        """runs: the indices of each group; None for one group of all. names: of the tensors, of
        which there is one group then."""
        tensors = list(tensors)
        made = [arrays.to_engine(tensor, in_place) for tensor in tensors]
        base = self._base_name(f"grouped_{kind.name}", name, settings)
        tickets: list[Any] = [None] * len(made)
        whole = [(base, list(range(len(made))))]
        for group, run in whole if runs is None else _named(base, runs):
            given = self._core.submit_group(
                group, kind,
                [f"{group}_{i}of{len(run)}" for i in range(1, len(run) + 1)] if names is None
                else [f"{kind.name}.{each}" for each in names], [made[index].dtype for index in run],
                [made[index].memory for index in run], in_place, settings)
            for index, ticket in zip(run, given):
                tickets[index] = ticket

        def finish() -> list[Any]:
            if in_place:
                return [_written(each, tensor) for each, tensor in zip(made, tensors)]
            return [each.wrap(ticket) for each, ticket in zip(made, tickets)]

        return Handle(tickets, finish)


def _named(base: str, runs: list[list[int]]) -> list[tuple[str, list[int]]]:
    return [(f"{base}.{number}", run) for number, run in enumerate(runs)]


def _written(array: EngineArray, tensor: Tensor) -> Tensor:
    if array.restore is not None:
        array.restore()
    return tensor
