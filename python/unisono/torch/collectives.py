# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The collectives of ``horovod.torch``: same names, same order of arguments, same defaults.

Forms: plain returns a new tensor and lets gradients through; ``_`` works in place; ``_async``
returns a handle for poll() and synchronize(). Tensors are kept alive until their operation ends and
must not be changed meanwhile. A wrong argument raises ValueError from the call itself; what ranks
disagree on raises RuntimeError from whoever waits.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import torch

from ..current import engine
from ..default import barrier as barrier
from ..default import join as join
from ..engine import AnySet, ReduceOp
from ..errors import InvalidArgument
from ..exports import defined_names
from ..handle import Handle
from ..handle import poll as poll
from ..handle import synchronize as synchronize
from ..process_set import global_process_set
from ..submit import chosen_operator
from . import autograd
from .autograd import Reduction
from .compression import AnyCompression, Compression, codec_for, compressor_of

_ALL = global_process_set
_Splits = Union[torch.Tensor, Sequence[int], None]


def allreduce_async(tensor: torch.Tensor, average: Optional[bool] = None,
                    name: Optional[str] = None, op: Optional[ReduceOp] = None,
                    prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                    process_set: AnySet = _ALL) -> Handle:
    """Starts allreduce(); the tensor is only read.

        handle = hvd.allreduce_async(x, name="x", op=hvd.Sum)
        total = hvd.synchronize(handle)"""
    return engine().allreduce_async(
        tensor, name=name, op=op, average=average, prescale_factor=prescale_factor,
        postscale_factor=postscale_factor, process_set=process_set)


def allreduce(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None,
              compression: AnyCompression = Compression.none, op: Optional[ReduceOp] = None,
              prescale_factor: float = 1.0, postscale_factor: float = 1.0,
              process_set: AnySet = _ALL) -> torch.Tensor:
    """Every rank's tensors reduced by op (Average unless given) into a new tensor. Gradients flow.

        mean = hvd.allreduce(x, name="x")
        total = hvd.allreduce(x, name="x", op=hvd.Sum, compression=hvd.Compression.fp16)

    The tensor is multiplied by prescale_factor before the reduction and the result by
    postscale_factor. Integers are averaged by dividing and truncating."""
    codec = codec_for(compression, name=name or "")
    how = Reduction(chosen_operator(average, op), prescale_factor, postscale_factor, process_set,
                    codec or "")
    if codec is not None:
        return autograd.allreduce(tensor, name, how)
    compressor = compressor_of(compression)
    small, context = compressor.compress(tensor)
    return compressor.decompress(autograd.allreduce(small, name, how), context)


def allreduce_async_(tensor: torch.Tensor, average: Optional[bool] = None,
                     name: Optional[str] = None, op: Optional[ReduceOp] = None,
                     prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                     process_set: AnySet = _ALL) -> Handle:
    """Starts allreduce_().

        handles = [hvd.allreduce_async_(p.grad, name=n) for n, p in model.named_parameters()]
        for handle in handles:
            hvd.synchronize(handle)"""
    return engine().allreduce_async_(
        tensor, name=name, op=op, average=average, prescale_factor=prescale_factor,
        postscale_factor=postscale_factor, process_set=process_set)


def allreduce_(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None,
               op: Optional[ReduceOp] = None, prescale_factor: float = 1.0,
               postscale_factor: float = 1.0, process_set: AnySet = _ALL) -> torch.Tensor:
    """Like allreduce(), writing the result into the tensor; mind the order of arguments.

        hvd.allreduce_(x, name="x", op=hvd.Sum)"""
    return engine().allreduce_(
        tensor, name=name, op=op, average=average, prescale_factor=prescale_factor,
        postscale_factor=postscale_factor, process_set=process_set)


def grouped_allreduce_async(tensors: Sequence[torch.Tensor], average: Optional[bool] = None,
                            name: Optional[str] = None, op: Optional[ReduceOp] = None,
                            prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                            process_set: AnySet = _ALL) -> Handle:
    """Starts grouped_allreduce()."""
    return engine().grouped_allreduce_async(
        tensors, name=name, op=op, average=average, prescale_factor=prescale_factor,
        postscale_factor=postscale_factor, process_set=process_set)


def grouped_allreduce(tensors: Sequence[torch.Tensor], average: Optional[bool] = None,
                      name: Optional[str] = None, compression: AnyCompression = Compression.none,
                      op: Optional[ReduceOp] = None, prescale_factor: float = 1.0,
                      postscale_factor: float = 1.0,
                      process_set: AnySet = _ALL) -> list[torch.Tensor]:
    """Like allreduce() for tensors that become ready, travel and fail together. Gradients flow,
    and outputs may be backpropagated one by one.

        a, b = hvd.grouped_allreduce([a, b], name="layer1")"""
    tensors = list(tensors)
    codec = codec_for(compression, name=name or "")
    how = Reduction(chosen_operator(average, op), prescale_factor, postscale_factor, process_set,
                    codec or "")
    if codec is not None:
        return autograd.grouped_allreduce(tensors, name, how)
    compressor = compressor_of(compression)
    pairs = [compressor.compress(tensor) for tensor in tensors]
    small = autograd.grouped_allreduce([tensor for tensor, _ in pairs], name, how)
    return [compressor.decompress(tensor, context)
            for tensor, (_, context) in zip(small, pairs)]


def grouped_allreduce_async_(tensors: Sequence[torch.Tensor], average: Optional[bool] = None,
                             name: Optional[str] = None, op: Optional[ReduceOp] = None,
                             prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                             process_set: AnySet = _ALL) -> Handle:
    """Starts grouped_allreduce_()."""
    return engine().grouped_allreduce_async_(
        tensors, name=name, op=op, average=average, prescale_factor=prescale_factor,
        postscale_factor=postscale_factor, process_set=process_set)


def grouped_allreduce_(tensors: Sequence[torch.Tensor], average: Optional[bool] = None,
                       name: Optional[str] = None, op: Optional[ReduceOp] = None,
                       prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                       process_set: AnySet = _ALL) -> list[torch.Tensor]:
    """Like grouped_allreduce(), writing the results into the tensors."""
    return grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor,
                                    process_set).wait()


def allgather_async(tensor: torch.Tensor, name: Optional[str] = None,
                    process_set: AnySet = _ALL) -> Handle:
    """Starts allgather()."""
    return engine().allgather_async(tensor, name=name, process_set=process_set)


def allgather(tensor: torch.Tensor, name: Optional[str] = None,
              process_set: AnySet = _ALL) -> torch.Tensor:
    """Every rank's rows, in rank order; ranks may send different numbers of rows. Gradients flow.

        everyones = hvd.allgather(torch.ones(hvd.rank() + 1, 4), name="rows")"""
    return autograd.allgather(tensor, name, process_set)


def grouped_allgather_async(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                            process_set: AnySet = _ALL) -> Handle:
    """Starts grouped_allgather()."""
    return engine().grouped_allgather_async(tensors, name=name, process_set=process_set)


def grouped_allgather(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                      process_set: AnySet = _ALL) -> list[torch.Tensor]:
    """Like allgather() for tensors that travel and fail together."""
    return autograd.grouped_allgather(list(tensors), name, process_set)


def broadcast_async(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                    process_set: AnySet = _ALL) -> Handle:
    """Starts broadcast()."""
    return engine().broadcast_async(tensor, root_rank, name=name, process_set=process_set)


def broadcast(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
              process_set: AnySet = _ALL) -> torch.Tensor:
    """root_rank's tensor as a new tensor on every rank; root_rank counts in the whole job, also
    with a process set. Gradients flow.

        start = hvd.broadcast(x, root_rank=0, name="x")"""
    return autograd.broadcast(tensor, root_rank, name, process_set)


def broadcast_async_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                     process_set: AnySet = _ALL) -> Handle:
    """Starts broadcast_()."""
    return engine().broadcast_async_(tensor, root_rank, name=name, process_set=process_set)


def broadcast_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
               process_set: AnySet = _ALL) -> torch.Tensor:
    """Like broadcast(), writing the result into the tensor."""
    return engine().broadcast_(tensor, root_rank, name=name, process_set=process_set)


def alltoall_async(tensor: torch.Tensor, splits: _Splits = None, name: Optional[str] = None,
                   process_set: AnySet = _ALL) -> Handle:
    """Starts alltoall()."""
    return engine().alltoall_async(tensor, _rows(splits), name=name, process_set=process_set)


def alltoall(tensor: torch.Tensor, splits: _Splits = None, name: Optional[str] = None,
             process_set: AnySet = _ALL) -> Any:
    """Sends splits[i] rows to rank i; without splits, equal parts. Gradients flow.

        received = hvd.alltoall(x, name="x")
        received, counts = hvd.alltoall(x, splits=torch.tensor([1, 3]), name="x")

    Returns a tuple only when splits are given: the rows, and how many came from each rank."""
    return autograd.alltoall(tensor, _rows(splits), name, process_set)


def reducescatter_async(tensor: torch.Tensor, name: Optional[str] = None,
                        op: ReduceOp = ReduceOp.Average, process_set: AnySet = _ALL,
                        prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> Handle:
    """Starts reducescatter()."""
    autograd.check_scatters(op)
    return engine().reducescatter_async(tensor, name=name, op=op, prescale_factor=prescale_factor,
                                        postscale_factor=postscale_factor, process_set=process_set)


def reducescatter(tensor: torch.Tensor, name: Optional[str] = None,
                  compression: AnyCompression = Compression.none, op: ReduceOp = ReduceOp.Average,
                  process_set: AnySet = _ALL, prescale_factor: float = 1.0,
                  postscale_factor: float = 1.0) -> torch.Tensor:
    """This rank's rows of the reduction; earlier ranks take the remainder rows. Gradients flow.

        mine = hvd.reducescatter(x, name="x", op=hvd.Sum)"""
    how = Reduction(op, prescale_factor, postscale_factor, process_set)
    if codec_for(compression) == "":
        return autograd.reducescatter(tensor, name, how)
    # Codecs are for allreduce, so the built-in ones too run in Python here.
    compressor = compressor_of(compression)
    small, context = compressor.compress(tensor)
    return compressor.decompress(autograd.reducescatter(small, name, how), context)


def grouped_reducescatter_async(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                                op: ReduceOp = ReduceOp.Average, process_set: AnySet = _ALL,
                                prescale_factor: float = 1.0,
                                postscale_factor: float = 1.0) -> Handle:
    """Starts grouped_reducescatter()."""
    autograd.check_scatters(op)
    return engine().grouped_reducescatter_async(
        tensors, name=name, op=op, prescale_factor=prescale_factor,
        postscale_factor=postscale_factor, process_set=process_set)


def grouped_reducescatter(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                          compression: AnyCompression = Compression.none,
                          op: ReduceOp = ReduceOp.Average, process_set: AnySet = _ALL,
                          prescale_factor: float = 1.0,
                          postscale_factor: float = 1.0) -> list[torch.Tensor]:
    """Like reducescatter() for tensors that travel and fail together."""
    how = Reduction(op, prescale_factor, postscale_factor, process_set)
    compressor = Compression.none if compression is None else compressor_of(compression)
    pairs = [compressor.compress(tensor) for tensor in tensors]
    small = autograd.grouped_reducescatter([tensor for tensor, _ in pairs], name, how)
    return [compressor.decompress(tensor, context)
            for tensor, (_, context) in zip(small, pairs)]


def _rows(splits: _Splits) -> Optional[list[int]]:
    if splits is None:
        return None
    counts: Any = splits.tolist() if isinstance(splits, torch.Tensor) else splits
    try:
        return [operator.index(rows) for rows in counts]
    except TypeError:
        raise InvalidArgument(f"splits are {splits!r}; give one whole number of rows for each "
                              "rank") from None


if not TYPE_CHECKING:
    __all__ = defined_names(globals())
