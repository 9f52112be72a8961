# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How a list of tensors is cut into groups that become ready, travel and are checked together."""

from __future__ import annotations

import operator
from typing import Iterable, Optional, Sequence

from . import _core
from .errors import InvalidArgument

_BALANCES = ("count", "bytes")


def split_groups(sizes: Iterable[int], num_groups: int,
                 balance: str = "count") -> list[list[int]]:
    """Cuts tensors, given by their sizes in bytes, into contiguous runs: the indices of each.

    "count" puts as many tensors into every run, within one; "bytes" makes the heaviest run as light
    as can be. There are num_groups runs, or one per tensor when there are fewer tensors. The result
    is what ``groups=`` of grouped_allreduce() takes."""
    if balance not in _BALANCES:
        raise InvalidArgument(f"balance is {balance!r}; give one of {', '.join(_BALANCES)}")
    sizes = [operator.index(size) for size in sizes]
    for index, size in enumerate(sizes):
        if size < 0:
            raise InvalidArgument(f"sizes[{index}] is {size}; a size is 0 bytes or more")
    num_groups = _checked_count(num_groups)
    runs, first = [], 0
    for count in _core.split_groups(sizes, num_groups, balance == "bytes"):
        runs.append(list(range(first, first + count)))
        first += count
    return runs


def chosen_groups(tensors: int, num_groups: Optional[int],
                  groups: Optional[Sequence[Sequence[int]]]) -> Optional[list[list[int]]]:
    """The groups that the arguments of a call ask for; None for all tensors in one group."""
    if num_groups is not None and groups is not None:
        raise InvalidArgument("give num_groups or groups, not both")
    if num_groups is not None:
        return split_groups([0] * tensors, num_groups)
    return None if groups is None else _checked_groups(tensors, groups)


def _checked_count(num_groups: int) -> int:
    try:
        count = operator.index(num_groups)
    except TypeError:
        raise InvalidArgument(f"num_groups is {num_groups!r}; give a whole number") from None
    if count < 1:
        raise InvalidArgument(f"num_groups is {count}; there must be 1 group or more")
    return count


def _checked_groups(tensors: int, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    checked = [[operator.index(index) for index in group] for group in groups]
    owner: dict[int, int] = {}
    for number, group in enumerate(checked):
        if not group:
            raise InvalidArgument(f"groups[{number}] is empty; leave it out")
        for index in group:
            if not 0 <= index < tensors:
                raise InvalidArgument(f"groups[{number}] names tensor {index}, and there are "
                                      f"{tensors}, counted from 0")
            if index in owner:
                raise InvalidArgument(f"tensor {index} is in groups[{owner[index]}] and again in "
                                      f"groups[{number}]; name it once")
            owner[index] = number
    missing = [index for index in range(tensors) if index not in owner]
    if missing:
        raise InvalidArgument(f"groups name no place for tensor {missing[0]}"
                              f"{f' and {len(missing) - 1} more' if missing[1:] else ''}; every "
                              "tensor belongs to one group")
    return checked
