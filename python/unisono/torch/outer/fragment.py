# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that travel together: where their round began, and the exchange they are in.

The anchor is the point that all ranks agree on; the parameter itself is where this rank has got to
since. An exchange carries the anchor minus the parameter. Beside it three numbers are added up:
who contributes, whose change is not finite, and who still takes steps. So all ranks know alike,
without a message of its own to wait for, whether the round counts and over how many the average is.
"""

from __future__ import annotations

import contextlib
from typing import Callable, NamedTuple, Optional

import torch

from ...engine import ReduceOp
from ...errors import Error
from .exchange import Exchange, Link, Tensors
from .rules import UpdateRule

_NARROW = (torch.float16, torch.bfloat16)


class OuterParameter:
    """One parameter, its anchor and what the update rule remembers of it, in host memory and at
    least fp32. Invariant: anchor and state are the same bits on every rank."""

    def __init__(self, name: str, tensor: torch.Tensor, slots: tuple[str, ...]):
        self.name, self.tensor = name, tensor
        self.anchor = self._value().clone(memory_format=torch.contiguous_format)
        self.state = {slot: torch.zeros_like(self.anchor) for slot in slots}

    def _value(self) -> torch.Tensor:
        value = self.tensor.detach()
        wide = torch.float32 if value.dtype in _NARROW else value.dtype
        return value.to(device="cpu", dtype=wide)

    def change(self) -> torch.Tensor:
        """The pseudo-gradient, as a tensor of its own."""
        return self.anchor - self._value()

    def move_to_anchor(self, keep: float = 0.0) -> None:
        """Starts anew from the anchor, or from between it and where this rank is."""
        target = self.anchor
        if keep:
            target = self._value().mul(keep).add_(self.anchor, alpha=1.0 - keep)
        with torch.no_grad():
            self.tensor.copy_(target)

    def restart(self) -> None:
        self.anchor.copy_(self._value())
        for kept in self.state.values():
            kept.zero_()


class Outcome(NamedTuple):
    """What an exchange has come to, the same on every rank."""

    averages: Optional[Tensors]  # None when the round is dropped, or nobody contributed
    contributors: int
    broken: int  # ranks whose change was not finite
    active: int  # ranks that still take steps


class Flight:
    """A fragment's exchange from its start until its average is applied, at step ``due``.
    contributed: whether this rank's own change is in it."""

    def __init__(self, due: int, broken_here: bool, contributed: bool,
                 wait: Callable[[], Outcome], drop: Callable[[], None] = lambda: None):
        self.due, self.broken_here, self.contributed = due, broken_here, contributed
        self._wait, self._drop = wait, drop
        self._outcome: Optional[Outcome] = None

    def outcome(self) -> Outcome:
        if self._outcome is None:
            self._outcome = self._wait()
        return self._outcome

    def drop(self) -> None:
        """Waits until the names of its operations are free again, unless the job has ended."""
        if self._outcome is None:
            with contextlib.suppress(Error):
                self._drop()


def _finite(tensors: Tensors) -> bool:
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values())


class Fragment:
    """Thread: the one that trains."""

    def __init__(self, number: int, parameters: list[OuterParameter]):
        self.number, self.parameters = number, parameters
        self.moved = False  # whether this rank has taken steps that it has not sent
        self.flight: Optional[Flight] = None
        self.sent_bytes = 0
        self._abandoned: list[Flight] = []

    def begin(self, link: Link, exchange: Exchange, prefix: str, active: bool, due: int) -> None:
        """Starts the exchange of what has changed since the last one."""
        assert self.flight is None, "a fragment is in one exchange at a time"
        while self._abandoned:
            self._abandoned.pop().drop()
        contributes, self.moved = self.moved, False
        changes = {each.name: each.change() if contributes else torch.zeros_like(each.anchor)
                   for each in self.parameters}
        broken = not _finite(changes)
        pending = exchange.start(link, f"{prefix}fragment.{self.number}", changes, contributes)
        self.sent_bytes += pending.sent_bytes
        # A residual may have been added to the change.
        broken = broken or not getattr(pending, "finite", True)
        counts = torch.tensor([contributes, broken, active], dtype=torch.int32)
        agreement = link.engine.allreduce_async_(
            counts, name=f"{prefix}agree.{self.number}", op=ReduceOp.Sum,
            process_set=link.process_set, codec="none")

        def wait() -> Outcome:
            contributors, broken, active = agreement.wait().tolist()
            averages: Optional[Tensors] = None
            if broken or not contributors:
                pending.drop()
            else:
                averages = pending.finish(contributors)
                if not _finite(averages):
                    averages = None  # an overflow on the way, which all ranks see alike
            return Outcome(averages, contributors, broken, active)

        def drop() -> None:
            agreement.wait()
            pending.drop()

        self.flight = Flight(due, broken, contributes, wait, drop)

    def abandon(self) -> None:
        """What is under way will not be applied. It ends by itself, and so without waiting here."""
        if self.flight is not None:
            self._abandoned.append(self.flight)
            self.flight = None

    def end(self, rule: UpdateRule, ranks: int, mix: float) -> tuple[Outcome, bool]:
        """Waits, and moves on from the new anchor; mix: the share that is kept of steps taken
        meanwhile. Returns the outcome and whether it was applied."""
        assert self.flight is not None
        flight, self.flight = self.flight, None
        outcome = flight.outcome()
        averages = outcome.averages
        if averages is None:
            if flight.broken_here:
                self.go_back()
            elif flight.contributed:
                self.moved = True  # what was not applied is sent with the next round
            return outcome, False
        for each in self.parameters:
            rule.apply(each.anchor, averages[each.name], each.state, ranks)
            each.move_to_anchor(mix if self.moved else 0.0)
        return outcome, True

    def go_back(self) -> None:
        """Forgets the steps of this rank since the anchor."""
        self.moved = False
        for each in self.parameters:
            each.move_to_anchor()


__all__ = ["Flight", "Fragment", "OuterParameter", "Outcome"]
