# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""In which order a forward pass uses the parameters: learned once, before the first step."""

from __future__ import annotations

import torch


class OrderOfUse:
    """What is used first is the most urgent. Parameters that no module has used when the first
    gradient leaves follow in the order of their registration. Thread: the one that trains."""

    def __init__(self) -> None:
        self.learning = True
        self._registered: dict[int, int] = {}  # by id: the exchange keeps the tensors alive
        self._used: dict[int, int] = {}

    def register(self, tensor: torch.Tensor) -> None:
        self._registered.setdefault(id(tensor), len(self._registered))

    def used(self, tensor: torch.Tensor) -> None:
        """A module that owns the parameter is about to run."""
        if id(tensor) in self._registered:
            self._used.setdefault(id(tensor), len(self._used))

    def place(self, tensor: torch.Tensor) -> int:
        """How many parameters are needed before this one, about."""
        key = id(tensor)
        place = self._used.get(key)
        return place if place is not None else len(self._used) + self._registered.get(key, 0)

    def priority(self, tensor: torch.Tensor) -> int:
        """Larger for what is needed sooner."""
        return 2 * len(self._registered) - self.place(tensor)
