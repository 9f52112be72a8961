# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Which parameters travel together, and after which local steps.

Parameters are cut into fragments, and each is exchanged once in every ``steps`` local steps, one
after the other: so the wire is used all the time, and never for the whole model at once. With a
delay the average of a fragment is applied that many steps after the exchange began. Pure: the same
arguments lead to the same answers on every rank.
"""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence, Union

from ...errors import InvalidArgument
from ...groups import split_groups

AnyFragments = Union[int, Sequence[Sequence[str]]]


class Schedule:
    """When fragments are exchanged; steps None: only when the program asks for it."""

    def __init__(self, steps: Optional[int], fragments: int, delay: int):
        self.steps = None if steps is None else _whole("steps", steps, 1)
        self.fragments, self.delay = fragments, _whole("delay", delay, 0)
        if self.steps is None:
            if self.delay:
                raise InvalidArgument(f"delay is {delay}, and with steps=None nothing is exchanged "
                                      "while steps go on; use delay=0")
            return
        if fragments > self.steps:
            raise InvalidArgument(f"there are {fragments} fragments and only {self.steps} steps to "
                                  "exchange them in; give more steps or fewer fragments")
        if self.delay >= self.steps:
            raise InvalidArgument(f"delay is {delay}, and a fragment is exchanged again after "
                                  f"{self.steps} steps; give a delay below that")

    def due_at(self, step: int) -> list[int]:
        """The fragments whose round of local steps ends with this one; steps count from 1."""
        if self.steps is None:
            return []
        return [number for number in range(self.fragments)
                if (step - self._offset(number)) % self.steps == 0]

    def _offset(self, number: int) -> int:
        assert self.steps is not None
        return (number + 1) * self.steps // self.fragments


def split_fragments(names: Sequence[str], sizes: Sequence[int],
                    fragments: AnyFragments) -> list[list[int]]:
    """Of each fragment, the places of its parameters: runs of about equal size for a number, or
    what lists of names say."""
    if isinstance(fragments, int):
        count = _whole("fragments", fragments, 1)
        if count > len(names):
            raise InvalidArgument(f"fragments is {count}, and there are {len(names)} parameters to "
                                  "train; give at most as many fragments")
        return split_groups(sizes, count, "bytes")
    place_of = {name: place for place, name in enumerate(names)}
    chosen: list[list[int]] = []
    seen: set[str] = set()
    for number, listed in enumerate(fragments):
        if isinstance(listed, str) or not hasattr(listed, "__iter__"):
            raise InvalidArgument("fragments should be a number or lists of names of parameters; "
                                  f"fragments[{number}] is {listed!r}")
        for name in listed:
            if name not in place_of or name in seen:
                raise InvalidArgument(f"fragments[{number}] names {name!r}, which " + (
                    "is in a fragment already; name it once" if name in seen else
                    "is no parameter that this optimizer trains; leave it out"))
            seen.add(name)
        if not listed:
            raise InvalidArgument(f"fragments[{number}] is empty; leave it out")
        chosen.append([place_of[name] for name in listed])
    missing = [name for name in names if name not in seen]
    if missing:
        raise InvalidArgument("fragments leave out " + ", ".join(missing[:8])
                              + ("..." if missing[8:] else "")
                              + "; every parameter belongs to one fragment")
    return chosen


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < least:
        raise InvalidArgument(f"{name} is {value!r}; give a whole number, {least} or more")
    return number


__all__ = ["AnyFragments", "Schedule", "split_fragments"]
