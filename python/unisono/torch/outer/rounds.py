# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds of local steps and the outer steps that end them, in the same order on every rank.

Every rank counts its own steps, and exchanges happen at the same counts everywhere. A rank that has
run out of data goes on counting without taking steps, so that the others find it at every exchange,
until nobody takes steps any more.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Iterable

from ...process_set import identity_of
from ..optimizer.names import distinct_names
from .exchange import Exchange, Link
from .fragment import Fragment, Outcome
from .fragments import Schedule
from .rules import UpdateRule


class Rounds:
    """Thread: the one that trains. forget: drops what the inner optimizer knows of a fragment whose
    parameters went back to the anchor because they were not finite."""

    def __init__(self, fragments: list[Fragment], schedule: Schedule, rule: UpdateRule,
                 exchange: Exchange, link: Link, mix: float, forget: Callable[[Fragment], None]):
        self.fragments, self.schedule, self.rule = fragments, schedule, rule
        self.exchange, self.link, self.mix = exchange, link, mix
        self.step = 0  # counted steps, with those that a rank in join() does not take
        self.applied = self.dropped = 0
        self.exchange_s = 0.0
        self._forget = forget
        self._named: tuple[Any, str] = (None, "")

    def advance(self) -> None:
        """After a local step: ends the exchanges that are due, starts those whose turn it is."""
        for fragment in self.fragments:
            fragment.moved = True
        self._turn(active=True)

    def synchronize(self) -> bool:
        """An outer step of everything, now. False when one of its rounds was dropped."""
        before = self.dropped
        with_failures_dropped(self, self._drain)
        self._all_now(active=True)
        return self.dropped == before

    def join(self) -> None:
        """Takes part without steps until every fragment was exchanged with nobody taking any."""
        quiet = 0
        while quiet < len(self.fragments):
            turn = self._turn if self.schedule.steps is not None else self._all_now
            for outcome in turn(active=False):
                quiet = quiet + 1 if outcome.active == 0 else 0
        with_failures_dropped(self, self._drain)
        for fragment in self.fragments:
            fragment.go_back()

    def abandon(self) -> None:
        """Forgets what is under way; the other ranks do the same, or are gone."""
        for fragment in self.fragments:
            fragment.abandon()

    def settle(self) -> None:
        """Waits for what is under way without applying it, so that it can be saved."""
        for fragment in self.fragments:
            if fragment.flight is not None:
                fragment.flight.outcome()

    def _turn(self, active: bool) -> list[Outcome]:
        self.step += 1

        def turn() -> list[Outcome]:
            outcomes = self._end(self._due())
            for number in self.schedule.due_at(self.step):
                self._begin(self.fragments[number], active, self.step + self.schedule.delay)
            return outcomes + self._end(self._due())

        return with_failures_dropped(self, turn)

    def _all_now(self, active: bool) -> list[Outcome]:
        def exchange() -> list[Outcome]:
            for fragment in self.fragments:
                self._begin(fragment, active, self.step)
            return self._end(self.fragments)

        return with_failures_dropped(self, exchange)

    def _drain(self) -> list[Outcome]:
        flying = [each for each in self.fragments if each.flight is not None]
        return self._end(sorted(flying, key=lambda each: each.flight.due if each.flight else 0))

    def _due(self) -> list[Fragment]:
        return [each for each in self.fragments
                if each.flight is not None and each.flight.due <= self.step]

    def _begin(self, fragment: Fragment, active: bool, due: int) -> None:
        fragment.begin(self.link, self.exchange, self._prefix(), active, due)

    def _end(self, fragments: Iterable[Fragment]) -> list[Outcome]:
        outcomes = []
        for fragment in fragments:
            assert fragment.flight is not None
            broken_here = fragment.flight.broken_here
            outcome, applied = fragment.end(self.rule, self.link.ranks, self.mix)
            if broken_here:
                self._forget(fragment)
            self.applied += applied
            self.dropped += not applied and outcome.contributors > 0
            outcomes.append(outcome)
        return outcomes

    def _prefix(self) -> str:
        """What goes before the names of operations, which other optimizers of the job have not."""
        engine = self.link.engine
        if self._named[0] is not engine:
            names = distinct_names(engine, identity_of(self.link.process_set), ())
            self._named = (engine, f"{names.own}outer.")
        return self._named[1]


def with_failures_dropped(rounds: Rounds, call: Callable[[], list[Outcome]]) -> list[Outcome]:
    """Runs the call and counts its time. After a failure nothing is under way any more."""
    start = time.perf_counter()
    try:
        return call()
    except BaseException:
        rounds.abandon()
        raise
    finally:
        rounds.exchange_s += time.perf_counter() - start


__all__ = ["Rounds"]
