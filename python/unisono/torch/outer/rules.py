# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Update rules: how the average change of all ranks moves the point they start from next.

The pseudo-gradient is where a round of local steps began (the anchor) minus where it ended, so it
points up the loss as a gradient does, and every rule subtracts it. A rule sees one tensor at a time
and keeps nothing itself: what it remembers is in tensors of the anchor's shape, zero at first,
which the optimizer saves by the name of the parameter. All ranks compute the same bits.
"""

from __future__ import annotations

from typing import Optional, Protocol

import torch

from ...errors import InvalidArgument


class UpdateRule(Protocol):
    """What an outer optimizer needs of a rule; any object with these two will do. Its repr() is
    compared over the ranks, so it should tell the settings and no address."""

    slots: tuple[str, ...]  # the names of the tensors that the rule keeps for each parameter

    def apply(self, anchor: torch.Tensor, gradient: torch.Tensor,
              state: dict[str, torch.Tensor], ranks: int) -> None:
        """Moves the anchor and changes the state in place. ranks: how many exchange."""


class Averaging:
    """The anchor becomes the average of where the ranks are; with lr below 1, goes part of the way.

        outer.Averaging()"""

    slots: tuple[str, ...] = ()

    def __init__(self, lr: float = 1.0):
        self.lr = _positive("lr", lr)

    def apply(self, anchor: torch.Tensor, gradient: torch.Tensor,
              state: dict[str, torch.Tensor], ranks: int) -> None:
        anchor.sub_(gradient, alpha=self.lr)

    def __repr__(self) -> str:
        return f"Averaging(lr={self.lr})"


class Nesterov:
    """Nesterov momentum over pseudo-gradients, by the arithmetic of torch.optim.SGD.

        outer.Nesterov(lr=0.7, momentum=0.9)"""

    slots: tuple[str, ...] = ("velocity",)

    def __init__(self, lr: float = 0.7, momentum: float = 0.9):
        self.lr, self.momentum = _positive("lr", lr), _momentum(momentum)

    def apply(self, anchor: torch.Tensor, gradient: torch.Tensor,
              state: dict[str, torch.Tensor], ranks: int) -> None:
        velocity = state["velocity"].mul_(self.momentum).add_(gradient)
        anchor.sub_(gradient.add(velocity, alpha=self.momentum), alpha=self.lr)

    def __repr__(self) -> str:
        return f"Nesterov(lr={self.lr}, momentum={self.momentum})"


class BlockMomentum:
    """Block momentum (BMUF): a round's change is the last one's times the momentum, minus the
    pseudo-gradient times lr. With nesterov, ranks start from where the momentum would lead next.

        outer.BlockMomentum()               # momentum 1 - 1/ranks
        outer.BlockMomentum(momentum=0.9, lr=1.0, nesterov=True)"""

    slots: tuple[str, ...] = ("change",)

    def __init__(self, momentum: Optional[float] = None, lr: float = 1.0, nesterov: bool = False):
        self.momentum = None if momentum is None else _momentum(momentum)
        self.lr, self.nesterov = _positive("lr", lr), bool(nesterov)

    def apply(self, anchor: torch.Tensor, gradient: torch.Tensor,
              state: dict[str, torch.Tensor], ranks: int) -> None:
        momentum = 1.0 - 1.0 / ranks if self.momentum is None else self.momentum
        change = state["change"].mul_(momentum).sub_(gradient, alpha=self.lr)
        if self.nesterov:
            # The momentum's part of the next round, less what was added of it for this one.
            anchor.sub_(gradient, alpha=self.lr).add_(change, alpha=momentum)
        else:
            anchor.add_(change)

    def __repr__(self) -> str:
        return f"BlockMomentum(momentum={self.momentum}, lr={self.lr}, nesterov={self.nesterov})"


def _positive(name: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise InvalidArgument(f"{name} is {value!r}; give a number above 0")
    return float(value)


def _momentum(value: float) -> float:
    if not 0 <= value < 1:
        raise InvalidArgument(f"momentum is {value!r}; give a number from 0 up to, but not, 1")
    return float(value)


__all__ = ["Averaging", "BlockMomentum", "Nesterov", "UpdateRule"]
