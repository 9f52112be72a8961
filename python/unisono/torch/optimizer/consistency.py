# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Whether all ranks hold the same tensors, to the bit.

Each tensor is hashed with its name, type and shape; the hashes of all ranks are compared after one
allgather of 8 bytes a tensor. Only when they differ do the ranks exchange what they have there.
"""

from __future__ import annotations

import collections
import hashlib
from typing import Any, Iterable, Mapping, Union

import numpy as np
import torch

from ...errors import InvalidArgument, Mismatch
from ...process_set import ProcessSet, global_process_set
from .transfer import engine_of

Named = Union[torch.nn.Module, Mapping[str, Any], Iterable[tuple[str, Any]]]


def check_consistent(what: Named, *, name: str = "check_consistent",
                     process_set: ProcessSet = global_process_set) -> None:
    """Raises unisono.Mismatch on every rank unless all hold the same tensors, naming the first
    that differs and the ranks that differ from the others. Collective: every rank calls it.

        hvd.check_consistent(model)                     # parameters and buffers
        hvd.check_consistent(model.named_parameters())  # or any (name, tensor) pairs, or a dict
    """
    pairs = _pairs(what)
    if not process_set.included():
        return
    engine = engine_of(process_set)
    mine = np.array([len(pairs), *(_hash(*pair) for pair in pairs)], np.int64)
    rows = _split(engine.allgather(mine, name=name, process_set=process_set))
    if all(np.array_equal(row, rows[0]) for row in rows):
        return
    place = _first_difference(rows)
    described = _described(*pairs[place]) if place < len(pairs) else "nothing"
    told = engine.allgather_object(described, name=f"{name}.{place}", process_set=process_set)
    ranks = process_set._ranks()
    error = Mismatch(_report(place, rows, told, ranks))
    error.rank = ranks[_odd_ones(place, rows)[0]]
    raise error


def _pairs(what: Named) -> list[tuple[str, torch.Tensor]]:
    if isinstance(what, torch.nn.Module):
        what = [*what.named_parameters(), *what.named_buffers()]
    elif isinstance(what, Mapping):
        what = what.items()
    pairs = [(name, value) for name, value in what if value is not None]
    for name, value in pairs:
        if not isinstance(value, torch.Tensor):
            raise InvalidArgument(f"check_consistent() compares tensors, and {name} is a "
                                  f"{type(value).__name__}; leave it out")
    return pairs


def _hash(name: str, tensor: torch.Tensor) -> int:
    digest = hashlib.blake2b(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(),
                             digest_size=8)
    tensor = tensor.detach().cpu()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return int.from_bytes(digest.digest(), "little", signed=True)


def _split(gathered: np.ndarray) -> list[np.ndarray]:
    """The ranks' rows, each led by its length."""
    rows, start = [], 0
    while start < len(gathered):
        end = start + 1 + int(gathered[start])
        rows.append(gathered[start + 1:end])
        start = end
    return rows


def _at(place: int, row: np.ndarray) -> Any:
    return int(row[place]) if place < len(row) else None


def _first_difference(rows: list[np.ndarray]) -> int:
    return next(place for place in range(max(map(len, rows)))
                if len({_at(place, row) for row in rows}) > 1)


def _odd_ones(place: int, rows: list[np.ndarray]) -> list[int]:
    """Who differs from the value that most ranks have; from rank 0's when several lead."""
    values = [_at(place, row) for row in rows]
    counts = collections.Counter(values)
    usual = max(values, key=lambda value: (counts[value], value == values[0]))
    return [index for index, value in enumerate(values) if value != usual]


def _described(name: str, tensor: torch.Tensor) -> str:
    return f"{name} ({str(tensor.dtype).removeprefix('torch.')}, shape {tuple(tensor.shape)})"


def _report(place: int, rows: list[np.ndarray], told: list[str], ranks: list[int]) -> str:
    odd = _odd_ones(place, rows)
    usual = next(index for index in range(len(rows)) if index not in odd)
    who = f"rank{'s' if odd[1:] else ''} {', '.join(str(ranks[index]) for index in odd)}"
    strange = next((index for index in odd if told[index] != told[usual]), None)
    if strange is None:
        what = f"the values of {told[usual]} on {who} are not those of rank {ranks[usual]}"
    else:
        what = (f"tensor {place} is {told[strange]} on rank {ranks[strange]} and {told[usual]} on "
                f"rank {ranks[usual]}; in all, {who} stand{'' if odd[1:] else 's'} out")
    return (f"Inconsistent tensors: {what}. It is the first that differs. Call "
            "broadcast_parameters() before training, and give random numbers the same seed.")


__all__ = ["check_consistent"]
