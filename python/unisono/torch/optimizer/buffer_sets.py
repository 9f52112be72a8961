# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The buckets of an optimizer: one set, or two that take turns.

When gradients are applied one step late, the buckets of the last step still travel while backward()
fills those of this one. Both sets are laid out alike and differ in the names of their operations.
"""

from __future__ import annotations

from .bucket import Bucket
from .grad_arena import FlatBucket
from .layout import Plan
from .names import Names
from .tracked import TrackedParameter
from .transfer import Transfer


def set_prefixes(prefixes: Names, count: int) -> list[Names]:
    """What goes before the names of each set; nothing is added where there is only one."""
    added = [f"set.{number}." for number in range(count)] if count > 1 else [""]
    return [Names(prefixes.own + each, prefixes.parameter + each) for each in added]


class BufferSets:
    """Which bucket a gradient goes to in this step. Thread: the one that runs backward()."""

    def __init__(self, parameters: list[TrackedParameter], plan: Plan, transfer: Transfer,
                 use_arena: bool, prefixes: list[Names]):
        self._transfer, self._prefixes = transfer, prefixes
        self.sets = [plan.buckets(parameters, transfer, use_arena, each) for each in prefixes]
        self._turn = 0
        for number, bucket in enumerate(self.sets[0]):
            for position, parameter in enumerate(bucket.parameters):
                parameter.bucket, parameter.position = number, position

    @property
    def current(self) -> list[Bucket]:
        """The buckets that this step's gradients go to."""
        return self.sets[self._turn]

    def swap(self) -> None:
        self._turn = 1 - self._turn

    def in_arena(self) -> bool:
        return any(bucket.in_arena for buckets in self.sets for bucket in buckets)

    def in_flight(self) -> bool:
        """Whether the current set still carries the gradients of the step before."""
        return _in_flight(self.current)

    def bucket_for(self, parameter: TrackedParameter) -> Bucket:
        """The bucket that the gradient travels in. A flat one holds dense gradients only: a sparse
        one is made dense where that is allowed, and travels by itself otherwise."""
        bucket, gradient = self.current[parameter.bucket], parameter.tensor.grad
        if gradient is None or not isinstance(bucket, FlatBucket):
            return bucket
        parameter.sparse_dims = gradient.sparse_dim() if gradient.is_sparse else 0
        if parameter.sparse_dims and not self._transfer.sparse_as_dense:
            return self._move_out(parameter)
        if parameter.sparse_dims:
            parameter.tensor.grad = gradient.to_dense()
        return bucket

    def add(self, parameter: TrackedParameter) -> Bucket:
        """Gives the parameter a bucket of its own in every set."""
        for buckets, prefixes in zip(self.sets, self._prefixes):
            bucket = Bucket(prefixes.parameter + parameter.name, [parameter], self._transfer,
                            grouped=False)
            if buckets is not self.current and _in_flight(buckets):
                bucket.submitted = []  # the step that this set carries had no such parameter
            buckets.append(bucket)
        parameter.bucket, parameter.position = len(self.sets[0]) - 1, 0
        return self.current[-1]

    def _move_out(self, parameter: TrackedParameter) -> Bucket:
        for buckets in self.sets:
            bucket = buckets[parameter.bucket]
            assert isinstance(bucket, FlatBucket), "the sets are laid out alike"
            bucket.drop(parameter)
        return self.add(parameter)

    def abandon(self) -> None:
        for buckets in self.sets:
            for bucket in buckets:
                bucket.abandon()


def _in_flight(buckets: list[Bucket]) -> bool:
    return all(bucket.submitted is not None for bucket in buckets)
