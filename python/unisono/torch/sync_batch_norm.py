# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation over the batches of all ranks, as if they were one.

Forward: every rank gathers the others' counts, means and sums of squared deviations, and combines
them by weights, which loses no digits where a sum of squares would. Backward: the two sums over the
batch that the gradient of the input needs are added up over the ranks. Gradients of weight and bias
stay local: the optimizer reduces them like any others. Two small collectives per layer and step.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
import torch.nn.functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from ..current import engine, is_initialized
from ..engine import AnySet, ReduceOp
from ..errors import InvalidArgument
from ..process_set import global_process_set
from .autograd import place_in


class SyncBatchNorm(_BatchNorm):
    """nn.BatchNorm1d, 2d and 3d over all ranks; batches may differ in size, and be empty.

        self.norm = hvd.SyncBatchNorm(64)
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: Optional[float] = 0.1,
                 affine: bool = True, track_running_stats: bool = True,
                 process_set: AnySet = global_process_set):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self.process_set = process_set

    def _check_input_dim(self, input: torch.Tensor) -> None:
        if input.dim() < 2:
            raise InvalidArgument(f"SyncBatchNorm needs a batch of at least 2 dimensions, not "
                                  f"{input.dim()}; give (rows, {self.num_features}, ...)")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self._check_input_dim(input)
        if not self.training or not self._others():
            return self._alone(input)
        output, mean, variance, count = _Normalise.apply(
            input, self.weight, self.bias, self.eps, self.process_set)
        if self.track_running_stats:
            self._track(mean, variance, count)
        return output

    def _others(self) -> bool:
        return is_initialized() and place_in(self.process_set)[1] > 1

    def _alone(self, input: torch.Tensor) -> torch.Tensor:
        tracked = not self.training or self.track_running_stats
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        return F.batch_norm(input, self.running_mean if tracked else None,
                            self.running_var if tracked else None, self.weight, self.bias,
                            self.training or self.running_mean is None, self._factor(), self.eps)

    def _track(self, mean: torch.Tensor, variance: torch.Tensor, count: torch.Tensor) -> None:
        if self.running_mean is None or self.running_var is None:
            return
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        factor = self._factor()
        unbiased = variance * (count / (count - 1).clamp(min=1))
        with torch.no_grad():
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), factor)
            self.running_var.lerp_(unbiased.to(self.running_var.dtype), factor)

    def _factor(self) -> float:
        """Without momentum the running values are plain averages over the steps so far."""
        if self.momentum is not None:
            return self.momentum
        if self.num_batches_tracked is None:
            return 0.0
        return 1.0 / max(1, int(self.num_batches_tracked))


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, weight: Optional[torch.Tensor],
                bias: Optional[torch.Tensor], eps: float, process_set: AnySet) -> Any:
        wide = _widened(input)
        mean, variance, count = _moments(wide, process_set)
        if count == 0:
            raise InvalidArgument("SyncBatchNorm got no rows on any rank; give at least one")
        inverse = torch.rsqrt(variance + eps)
        normal = (wide - _column(mean, wide)) * _column(inverse, wide)
        output = normal if weight is None else normal * _column(weight.to(wide.dtype), wide)
        output = output if bias is None else output + _column(bias.to(wide.dtype), wide)
        ctx.save_for_backward(input, weight, mean, inverse, count)
        ctx.process_set = process_set
        ctx.mark_non_differentiable(mean, variance, count)
        return output.to(input.dtype), mean, variance, count

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, *_: Any) -> Any:
        input, weight, mean, inverse, count = ctx.saved_tensors
        wide, slope = _widened(input), _widened(gradient)
        normal = (wide - _column(mean, wide)) * _column(inverse, wide)
        axes = [0, *range(2, wide.dim())]
        of_bias, of_weight = slope.sum(axes), (slope * normal).sum(axes)
        of_input = None
        if ctx.needs_input_grad[0]:
            features = mean.numel()
            sums = engine().allreduce(
                torch.cat([of_bias, of_weight]), op=ReduceOp.Sum,
                name=f"sync_batch_norm.backward.{features}", process_set=ctx.process_set,
                codec="none")  # the job's codec is for gradients of parameters
            scale = inverse if weight is None else inverse * weight.to(wide.dtype)
            of_input = (slope - _column(sums[:features] / count, wide)
                        - normal * _column(sums[features:] / count, wide)) * _column(scale, wide)
            of_input = of_input.to(input.dtype)
        return (of_input, of_weight.to(weight.dtype) if ctx.needs_input_grad[1] else None,
                of_bias.to(weight.dtype) if ctx.needs_input_grad[2] else None, None, None)


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    """Half precision is summed in fp32."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _column(per_feature: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return per_feature.view(1, -1, *(1,) * (like.dim() - 2))


def _moments(wide: torch.Tensor, process_set: AnySet) -> tuple[torch.Tensor, ...]:
    """Mean, biased variance and count of each feature over the batches of all ranks."""
    features = wide.shape[1]
    rows = wide.transpose(0, 1).reshape(features, -1)
    count = rows.shape[1]
    if count == 0:
        mine = wide.new_zeros(2 * features + 1)
    else:
        mean = rows.mean(dim=1)
        deviation = (rows - mean[:, None]).square().sum(dim=1)
        mine = torch.cat([mean, deviation, wide.new_tensor([count])])
    everyones = engine().allgather(mine[None], name=f"sync_batch_norm.forward.{features}",
                                   process_set=process_set)
    means, deviations = everyones[:, :features], everyones[:, features:2 * features]
    # The counts are whole; fp32 holds those of one rank up to 2^24 exactly, and their weights.
    counts = everyones[:, -1:].double()
    total = counts.sum()
    weights = counts / total.clamp(min=1)
    mean = (means.double() * weights).sum(dim=0)
    spread = deviations.double() + counts * (means.double() - mean).square()
    variance = spread.sum(dim=0) / total.clamp(min=1)
    return mean.to(wide.dtype), variance.to(wide.dtype), total.to(wide.dtype)


__all__ = ["SyncBatchNorm"]
