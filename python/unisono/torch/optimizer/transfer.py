# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How tensors are combined: by which operator, how encoded, among which ranks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Callable, Optional

import torch

from ... import current
from ...engine import Engine, ReduceOp
from ...errors import Forked, NotInitialized
from ...handle import Handle
from ..compression import JobCodecs, check_compression, codec_for, compressor_of, rules_of
from ..sparse import sparse_allreduce_async

Finish = Callable[[], torch.Tensor]  # waits for one tensor and returns it


class Transfer:
    """The same for every tensor of an optimizer, until the job re-forms around another engine."""

    def __init__(self, engine: Engine, process_set: Any, op: ReduceOp, predivide: float,
                 compression: Any, sparse_as_dense: bool, local: bool, team: int = 0):
        self.engine, self.process_set, self.op, self.local = engine, process_set, op, local
        self.compression, self.sparse_as_dense = compression, sparse_as_dense
        self._keywords: dict[str, Any] = dict(op=op, process_set=process_set)
        if team:
            self._keywords.update(team=team)
        if predivide != 1.0:
            self._keywords.update(prescale_factor=1.0 / predivide, postscale_factor=predivide)
        check_compression(compression)  # raises here, not in backward()
        self.compresses = (rules_of(compression) is not None
                           or codec_for(compression, torch.float32) != "")
        self.job = JobCodecs(engine.options())

    def stale(self) -> bool:
        """Whether the job has re-formed since, around another engine."""
        try:
            return self.engine is not engine_of(self.process_set)
        except (NotInitialized, Forked):
            return True

    def dense(self, name: str, tensors: list[torch.Tensor], grouped: bool,
              parameters: Sequence[str] = (), prefix: str = "") -> list[Finish]:
        """Combines the tensors in place; each of the calls returned waits for one of them.
        parameters: their names, for rules, and with the prefix for what codecs keep of them."""
        if self.local:
            return [functools.partial(_as_is, tensor) for tensor in tensors]
        names = parameters or [name] * len(tensors)
        codecs = [self.codec_of(tensor.dtype, each) for tensor, each in zip(tensors, names)]
        within = [prefix + each for each in parameters] if grouped and parameters else None
        if None not in codecs:
            return self._send_by_codec(name, tensors, within, grouped, codecs)
        compressor = compressor_of(self.compression)
        packed = [compressor.compress(tensor) for tensor in tensors]
        sent = self._send(name, [small for small, _ in packed], within, grouped, "")
        return [_unpacking(compressor, tensor, context, wait)
                for tensor, (_, context), wait in zip(tensors, packed, sent)]

    def codec_of(self, dtype: torch.dtype, parameter: str) -> Optional[str]:
        """As codec_for(), with the job's rules where the optimizer has nothing to say."""
        codec = codec_for(self.compression, dtype, parameter)
        return self.job.ruled(parameter, dtype, self.op) if codec == "" else codec

    def sparse(self, name: str, tensor: torch.Tensor) -> Finish:
        if self.local:
            return functools.partial(_as_is, tensor)
        return sparse_allreduce_async(tensor, name, self.op, process_set=self.process_set)

    def _send_by_codec(self, name: str, tensors: list[torch.Tensor],
                       within: Optional[list[str]], grouped: bool,
                       codecs: list[Any]) -> list[Finish]:
        """A group travels as one for each codec that its tensors have."""
        kinds = list(dict.fromkeys(codecs))
        if len(kinds) == 1:
            return self._send(name, tensors, within, grouped, kinds[0])
        waits: list[Any] = [None] * len(tensors)
        for number, kind in enumerate(kinds):
            places = [place for place, codec in enumerate(codecs) if codec == kind]
            sent = self._send(f"{name}.codec{number}", [tensors[place] for place in places],
                              within and [within[place] for place in places], True, kind)
            for place, wait in zip(places, sent):
                waits[place] = wait
        return waits

    def _send(self, name: str, tensors: list[torch.Tensor], within: Optional[list[str]],
              grouped: bool, codec: str) -> list[Finish]:
        """within: the names of the tensors in a group."""
        keywords = {**self._keywords, "codec": codec} if codec else self._keywords
        if not grouped:
            return [self.engine.allreduce_async_(tensors[0], name=name, **keywords).wait]
        handle = (self.engine.grouped_allreduce_async_(tensors, name=name, **keywords)
                  if within is None else
                  self.engine._named_group(tensors, name, within, **keywords))
        return [functools.partial(_one_of, handle, position) for position in range(len(tensors))]


def engine_of(process_set: Any) -> Engine:
    """The engine that the set is registered with; the default one for the whole job."""
    return getattr(process_set, "_engine", None) or current.engine()


def _as_is(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _one_of(handle: Handle, position: int) -> torch.Tensor:
    return handle.wait()[position]


def _unpacking(compressor: Any, tensor: torch.Tensor, context: Any, wait: Finish) -> Finish:
    def finish() -> torch.Tensor:
        result = compressor.decompress(wait(), context)
        return tensor if result is tensor else tensor.copy_(result)

    return finish
