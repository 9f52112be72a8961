# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How pseudo-gradients get to the other ranks: the seam between rounds and the wire.

An exchange starts at the end of a round and is finished some steps later. It may be lossy and keep
what it did not send (a residual) for the next time. Whether a round counts is agreed meanwhile, so
an exchange changes its residuals only in finish(), never before: a round that is dropped leaves no
trace. Every rank gets the same bits.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Protocol

import torch

from ...engine import Engine, ReduceOp
from ...errors import InvalidArgument
from ...handle import Handle
from ...process_set import ProcessSet
from ..compression import (AnyCompression, Compression, codec_for, compressor_of, is_cast,
                           rules_of)
from ..optimizer.transfer import engine_of

Tensors = dict[str, torch.Tensor]  # by the names of parameters


class Link:
    """The ranks that exchange. The engine is asked for each time, since a job can form anew."""

    def __init__(self, process_set: ProcessSet):
        self.process_set = process_set

    @property
    def engine(self) -> Engine:
        return engine_of(self.process_set)

    @property
    def ranks(self) -> int:
        return self.process_set.size()


class Pending(Protocol):
    """One exchange under way."""

    sent_bytes: int  # what this rank has handed over, as it is encoded
    # May have ``finite``: False says that what this rank has handed over is not, though the change
    # itself was, and then all ranks drop the round.

    def finish(self, contributors: int) -> Tensors:
        """Waits. Returns the averages over the ranks that contributed, and keeps residuals; but
        leaves them as they were when an average is not finite, since it is not applied."""

    def drop(self) -> None:
        """Waits, and forgets what came; residuals stay as they were."""


class Exchange(Protocol):
    """What an outer optimizer needs to average tensors over ranks. One exchange serves one
    optimizer. Its repr() is compared over the ranks, so it should tell the settings."""

    def start(self, link: Link, name: str, tensors: Tensors, contributes: bool) -> Pending:
        """Starts to average the tensors, which are the exchange's from now on. A rank that does
        not contribute has zeros there, and takes part all the same."""

    def residuals(self) -> Tensors:
        """What was kept back so far, by parameter; to be saved."""

    def load_residuals(self, residuals: Mapping[str, torch.Tensor]) -> None:
        """Replaces all of it by what was saved."""


class Allreduce:
    """Averages by the engine's allreduce, encoded as ``compression`` says: "fp16" or "bf16", rules
    by the names of parameters that give these or "none", a class of hvd.Compression, or one of your
    own. The job's codec is not for it.

        outer.Allreduce(compression="bf16")"""

    def __init__(self, compression: AnyCompression = Compression.none):
        rules = rules_of(compression)
        codecs = [codec_for(compression)] if rules is None else [codec for _, codec in rules]
        for codec in codecs:
            if codec is None:
                compressor_of(compression)  # raises when it is none
            elif not is_cast(codec):
                # The engine's residuals change when a tensor is sent: a round that is dropped
                # would count twice, and a checkpoint of this optimizer would not have them.
                raise InvalidArgument(
                    f"compression is {codec!r}, and an outer step can be dropped after it was "
                    "sent, which a codec that is no cast does not take back; give fp16 or bf16, "
                    "or exchange=outer.TopK() for changes that are picked, with error feedback")
        self.compression = compression

    def start(self, link: Link, name: str, tensors: Tensors, contributes: bool) -> Pending:
        return _Reducing(link, name, tensors, self.compression)

    def residuals(self) -> Tensors:
        return {}

    def load_residuals(self, residuals: Mapping[str, torch.Tensor]) -> None:
        pass

    def __repr__(self) -> str:
        given = self.compression
        shown = (repr(given or "none") if given is None or isinstance(given, str) else
                 (given if isinstance(given, type) else type(given)).__name__)
        return f"Allreduce(compression={shown})"


_CODEC_BYTES = {"fp16": 2, "bf16": 2}


class _Reducing:
    def __init__(self, link: Link, name: str, tensors: Tensors, compression: AnyCompression):
        self._tensors, self._compression, self._ranks = tensors, compression, link.ranks
        self._handles: list[tuple[Handle, Any]] = []
        self.sent_bytes = 0
        engine = link.engine
        for key, tensor in tensors.items():
            codec = codec_for(compression, tensor.dtype, key)
            sent, context = tensor, None
            if codec is None:
                sent, context = compressor_of(compression).compress(tensor)
            handle = engine.allreduce_async_(sent, name=f"{name}.{key}", op=ReduceOp.Average,
                                             process_set=link.process_set, codec=codec or "none")
            self._handles.append((handle, context if codec is None else _NOTHING))
            self.sent_bytes += sent.numel() * _element_bytes(codec, sent)

    def finish(self, contributors: int) -> Tensors:
        results: Tensors = {}
        for (key, tensor), (handle, context) in zip(self._tensors.items(), self._handles):
            result = handle.wait()
            if context is not _NOTHING:
                result = compressor_of(self._compression).decompress(result, context)
            results[key] = result.to(tensor.dtype)
            if contributors != self._ranks:
                results[key].mul_(self._ranks / contributors)
        return results

    def drop(self) -> None:
        for handle, _ in self._handles:
            handle.wait()


_NOTHING: Any = object()  # there is no context, because the engine has encoded the tensor


def _element_bytes(codec: Optional[str], tensor: torch.Tensor) -> int:
    return _CODEC_BYTES.get(codec or "none", tensor.element_size())


__all__ = ["Allreduce", "Exchange", "Link", "Pending", "Tensors"]
