# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives that gradients flow through, with Horovod's gradients.

Backward of allreduce is the same allreduce. Of allgather and broadcast: the average of every rank's
gradient, of which a rank keeps its own rows, or the root keeps all and the others zero. Of
alltoall: the way back. Of reducescatter(Sum): every rank's gradient, times the number of ranks.

Each function here takes the differentiable path only when a gradient may be asked for. The backward
of a named operation is named after it, so ranks may run theirs in different orders.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import torch

from ..current import engine
from ..engine import AnySet, ReduceOp
from ..errors import Error, InvalidArgument
from ..process_set import identity_of


class Reduction(NamedTuple):
    """How to reduce; the same forward and backward."""

    op: ReduceOp = ReduceOp.Average
    prescale: float = 1.0
    postscale: float = 1.0
    process_set: AnySet = 0
    codec: str = ""

    def keywords(self) -> dict[str, Any]:
        given: dict[str, Any] = {"op": self.op, "prescale_factor": self.prescale,
                                 "postscale_factor": self.postscale,
                                 "process_set": self.process_set}
        if self.codec:
            given["codec"] = self.codec
        return given


def _plain_mean(process_set: AnySet) -> Reduction:
    """An average that the caller has not asked for as such: the job's codec is not for it."""
    return Reduction(process_set=process_set, codec="none")


def place_in(process_set: AnySet) -> tuple[int, int]:
    """This rank's position in the set, and the set's size."""
    job = engine()
    identity = identity_of(process_set)
    if identity == 0:
        return job.rank(), job.size()
    ranks = job._core.process_set(identity)
    if job.rank() not in ranks:
        raise InvalidArgument(f"rank {job.rank()} is not in process set {identity} of ranks "
                              f"{list(ranks)}; ask included() first")
    return list(ranks).index(job.rank()), len(ranks)


def _flows(*tensors: torch.Tensor) -> bool:
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgument(f"this call takes torch tensors, not {type(tensor).__name__}; "
                                  "the calls of the unisono package itself take arrays and numbers")
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _backward_name(name: Optional[str]) -> Optional[str]:
    return None if name is None else f"{name}.grad"


def allreduce(tensor: torch.Tensor, name: Optional[str], how: Reduction) -> torch.Tensor:
    if _flows(tensor):
        return _Allreduce.apply(tensor, name, how)
    return engine().allreduce(tensor, name=name, **how.keywords())


class _Allreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, name: Optional[str],
                how: Reduction) -> torch.Tensor:
        ctx.name, ctx.how = name, how
        return engine().allreduce(tensor, name=name, **how.keywords())

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return allreduce(gradient, _backward_name(ctx.name), ctx.how), None, None


def grouped_allreduce(tensors: Sequence[torch.Tensor], name: Optional[str],
                      how: Reduction) -> list[torch.Tensor]:
    if _flows(*tensors):
        return list(_GroupedAllreduce.apply(name, how, *tensors))
    return engine().grouped_allreduce(tensors, name=name, **how.keywords())


class _GroupedAllreduce(torch.autograd.Function):
    """Outputs may be backpropagated one by one: the others' gradients are zero then."""

    @staticmethod
    def forward(ctx: Any, name: Optional[str], how: Reduction,
                *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.name, ctx.how = name, how
        return tuple(engine().grouped_allreduce(tensors, name=name, **how.keywords()))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return None, None, *grouped_allreduce(gradients, _backward_name(ctx.name), ctx.how)


def allgather(tensor: torch.Tensor, name: Optional[str], process_set: AnySet) -> torch.Tensor:
    if _flows(tensor):
        return _Allgather.apply(tensor, name, process_set)
    return engine().allgather(tensor, name=name, process_set=process_set)


class _Allgather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, name: Optional[str],
                process_set: AnySet) -> torch.Tensor:
        gathered = engine().allgather(tensor, name=name, process_set=process_set)
        ctx.name, ctx.process_set, ctx.rows = name, process_set, tensor.shape[0]
        return gathered

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        name = _backward_name(ctx.name)
        mean = allreduce(gradient, name, _plain_mean(ctx.process_set))
        first = _rows_before([ctx.rows], name, ctx.process_set)[0]
        return mean.narrow(0, first, ctx.rows), None, None


def grouped_allgather(tensors: Sequence[torch.Tensor], name: Optional[str],
                      process_set: AnySet) -> list[torch.Tensor]:
    if _flows(*tensors):
        return list(_GroupedAllgather.apply(name, process_set, *tensors))
    return engine().grouped_allgather(tensors, name=name, process_set=process_set)


class _GroupedAllgather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: Optional[str], process_set: AnySet,
                *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        gathered = engine().grouped_allgather(tensors, name=name, process_set=process_set)
        ctx.name, ctx.process_set = name, process_set
        ctx.rows = [tensor.shape[0] for tensor in tensors]
        return tuple(gathered)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        name = _backward_name(ctx.name)
        means = grouped_allreduce(gradients, name, _plain_mean(ctx.process_set))
        firsts = _rows_before(ctx.rows, name, ctx.process_set)
        return None, None, *(mean.narrow(0, first, rows)
                             for mean, first, rows in zip(means, firsts, ctx.rows))


def _rows_before(rows: list[int], name: Optional[str], process_set: AnySet) -> list[int]:
    """For each tensor, how many rows the ranks before this one sent."""
    rows_name = None if name is None else f"{name}.rows"
    everyones = engine().allgather(torch.tensor([rows]), name=rows_name, process_set=process_set)
    return everyones[:place_in(process_set)[0]].sum(dim=0).tolist()


def broadcast(tensor: torch.Tensor, root_rank: int, name: Optional[str],
              process_set: AnySet) -> torch.Tensor:
    if _flows(tensor):
        return _Broadcast.apply(tensor, root_rank, name, process_set)
    return engine().broadcast(tensor, root_rank, name=name, process_set=process_set)


class _Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, root_rank: int, name: Optional[str],
                process_set: AnySet) -> torch.Tensor:
        ctx.root_rank, ctx.name, ctx.process_set = root_rank, name, process_set
        return engine().broadcast(tensor, root_rank, name=name, process_set=process_set)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        mean = allreduce(gradient, _backward_name(ctx.name), _plain_mean(ctx.process_set))
        if engine().rank() != ctx.root_rank:
            mean = torch.zeros_like(mean)
        return mean, None, None, None


def alltoall(tensor: torch.Tensor, splits: Optional[list[int]], name: Optional[str],
             process_set: AnySet) -> Any:
    """The rows received, and how many from each rank when splits were given."""
    if not _flows(tensor):
        return engine().alltoall(tensor, splits, name=name, process_set=process_set)
    given = splits
    if given is None and tensor.dim() > 0:
        size = place_in(process_set)[1]
        # What cannot be cut evenly is left to the engine to refuse.
        given = [tensor.shape[0] // size] * size if tensor.shape[0] % size == 0 else None
    received, counts = _Alltoall.apply(tensor, given, name, process_set)
    return received if splits is None else (received, counts)


class _Alltoall(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, splits: list[int], name: Optional[str],
                process_set: AnySet) -> tuple[torch.Tensor, torch.Tensor]:
        received, counts = engine().alltoall(tensor, splits, name=name, process_set=process_set)
        ctx.counts, ctx.name, ctx.process_set = counts.tolist(), name, process_set
        ctx.mark_non_differentiable(counts)
        return received, counts

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, _: Any) -> Any:
        returned, _ = alltoall(gradient, ctx.counts, _backward_name(ctx.name), ctx.process_set)
        return returned, None, None, None


def check_scatters(op: ReduceOp) -> None:
    if op == ReduceOp.Adasum:
        raise Error("reducescatter does not support Adasum, which needs whole tensors; use "
                    "allreduce(op=Adasum), or reducescatter with Sum or Average")


def reducescatter(tensor: torch.Tensor, name: Optional[str], how: Reduction) -> torch.Tensor:
    check_scatters(how.op)
    if _flows(tensor):
        return _Reducescatter.apply(tensor, name, how)
    return engine().reducescatter(tensor, name=name, **how.keywords())


class _Reducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, name: Optional[str],
                how: Reduction) -> torch.Tensor:
        ctx.name, ctx.how = name, how
        return engine().reducescatter(tensor, name=name, **how.keywords())

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        scaled = gradient * _scatter_factor(ctx.how)
        return allgather(scaled, _backward_name(ctx.name), ctx.how.process_set), None, None


def grouped_reducescatter(tensors: Sequence[torch.Tensor], name: Optional[str],
                          how: Reduction) -> list[torch.Tensor]:
    check_scatters(how.op)
    if _flows(*tensors):
        return list(_GroupedReducescatter.apply(name, how, *tensors))
    return engine().grouped_reducescatter(tensors, name=name, **how.keywords())


class _GroupedReducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: Optional[str], how: Reduction,
                *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.name, ctx.how = name, how
        return tuple(engine().grouped_reducescatter(tensors, name=name, **how.keywords()))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        factor = _scatter_factor(ctx.how)
        return None, None, *grouped_allgather([gradient * factor for gradient in gradients],
                                              _backward_name(ctx.name), ctx.how.process_set)


def _scatter_factor(how: Reduction) -> float:
    if how.op not in (ReduceOp.Sum, ReduceOp.Average):
        raise InvalidArgument(f"reducescatter with {how.op} has no gradient; use Sum or Average")
    size = place_in(how.process_set)[1] if how.op == ReduceOp.Sum else 1
    return size * how.prescale * how.postscale
