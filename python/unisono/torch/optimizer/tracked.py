# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A parameter that an optimizer trains, and how far its gradient is in this step."""

from __future__ import annotations

from typing import Optional

import torch


class TrackedParameter:
    """What the exchange knows of one parameter. Thread: the one that runs backward()."""

    __slots__ = ("tensor", "name", "passes_left", "bucket", "position", "sparse_dims")

    def __init__(self, tensor: torch.Tensor, name: str, passes: int):
        self.tensor, self.name = tensor, name
        self.passes_left = passes  # backward passes until the gradient is complete
        self.bucket = self.position = 0  # the number of its bucket, and its position in there
        self.sparse_dims = 0  # how many dimensions of its last gradient were sparse

    def gradient(self, as_dense: bool) -> Optional[torch.Tensor]:
        """The gradient to send: zeros when there is none, None when the parameter is frozen."""
        tensor = self.tensor
        if tensor.grad is None:
            if not tensor.requires_grad:
                return None
            tensor.grad = self._zeros()
        if tensor.grad.requires_grad:
            tensor.grad = tensor.grad.detach()  # made with create_graph; results carry no graph
        self.sparse_dims = tensor.grad.sparse_dim() if tensor.grad.is_sparse else 0
        if self.sparse_dims and as_dense:
            tensor.grad = tensor.grad.to_dense()
        return tensor.grad

    def set_gradient(self, result: torch.Tensor) -> None:
        """Makes a result the gradient. It is sparse where autograd made a sparse one, whichever way
        it travelled, because some optimizers accept no other."""
        if self.sparse_dims and not result.is_sparse:
            result = result.to_sparse(self.sparse_dims)
        if self.tensor.grad is not result and self.tensor.requires_grad:
            self.tensor.grad = result

    def _zeros(self) -> torch.Tensor:
        if not self.sparse_dims:
            return torch.zeros_like(self.tensor)
        indices = torch.empty((self.sparse_dims, 0), dtype=torch.int64)
        values = torch.empty((0, *self.tensor.shape[self.sparse_dims:]), dtype=self.tensor.dtype)
        return torch.sparse_coo_tensor(indices, values, self.tensor.shape)
