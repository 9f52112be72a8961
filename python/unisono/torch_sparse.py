# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's sparse tensors as elements of a vector; sparse.py calls this once it has seen one.

Dimensions are flattened in order, those that are dense in a hybrid tensor included: then every
element of a row has an index of its own, and the result is of whole rows again.
"""

from __future__ import annotations

from typing import Callable

import torch

from .errors import InvalidArgument


Restore = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def stream_of(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int, Restore, bool]:
    """Indices, values, length, how a result becomes a tensor of the same layout, and whether that
    fills rows up with zeros."""
    if not tensor.is_cpu:
        raise InvalidArgument(f"the tensor is on {tensor.device} and unisono moves CPU memory; "
                              "pass tensor.cpu()")
    layout = tensor.layout
    if layout is torch.sparse_csr:
        tensor = tensor.detach().to_sparse_coo()
    elif layout is not torch.sparse_coo:
        raise InvalidArgument(f"the tensor's layout is {layout}; pass one of torch.sparse_coo or "
                              "torch.sparse_csr")
    once = tensor.detach().coalesce()
    outer, inner = once.size()[:once.sparse_dim()], once.size()[once.sparse_dim():]
    each = inner.numel()
    places = torch.zeros(once.values().shape[:1], dtype=torch.int64)
    for extent, along in zip(outer, once.indices()):
        places = places * extent + along
    if inner:
        places = (places.unsqueeze(1) * each + torch.arange(each)).reshape(-1)

    def restore(at: torch.Tensor, what: torch.Tensor) -> torch.Tensor:
        if inner:
            at, what = _rows(at, what, each)
            what = what.reshape(-1, *inner)
        made = torch.sparse_coo_tensor(_coordinates(at, outer), what, once.size(),
                                       is_coalesced=True)
        return made.to_sparse_csr() if layout is torch.sparse_csr else made

    return (places, once.values().reshape(-1), outer.numel() * each, restore, bool(inner))


def _coordinates(at: torch.Tensor, outer: torch.Size) -> torch.Tensor:
    """One row for each dimension; the last one goes fastest."""
    along = []
    for extent in reversed(outer):
        along.append(at % max(extent, 1))
        at = torch.div(at, max(extent, 1), rounding_mode="floor")
    return torch.stack(along[::-1]) if along else torch.zeros((0, at.numel()), dtype=torch.int64)


def _rows(at: torch.Tensor, what: torch.Tensor, each: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows that have an element, and all elements of each, which are zero where none came."""
    rows, place = torch.unique_consecutive(torch.div(at, each, rounding_mode="floor"),
                                           return_inverse=True)
    whole = torch.zeros((rows.numel(), each), dtype=what.dtype)
    whole[place, at % each] = what
    return rows, whole
