# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What an asynchronous call returns."""

from __future__ import annotations

import time
from typing import Any, Callable, Optional

from . import _core

_PENDING = object()


class Handle:
    """A claim on the result of one call. Dropping it abandons the result, not the work.

    An in-place result on a strided array is written when the handle is waited for.
    """

    __slots__ = ("_tickets", "_finish", "_result")

    def __init__(self, tickets: list[_core.Ticket], finish: Callable[[], Any]):
        self._tickets = tickets
        self._finish = finish
        self._result = _PENDING

    def done(self) -> bool:
        """Whether wait() would return or raise at once."""
        return all(ticket.done() for ticket in self._tickets)

    def wait(self, timeout: Optional[float] = None) -> Any:
        """The result. Raises what went wrong, or unisono.Timeout after ``timeout`` seconds, when
        the operation stays in flight and may be waited for again."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for ticket in self._tickets:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ticket.wait(left)
        if self._result is _PENDING:
            self._result = self._finish()
            self._finish = None
        return self._result

    def __repr__(self) -> str:
        names = ", ".join(ticket.name for ticket in self._tickets)
        return f"<unisono.Handle {names} {'done' if self.done() else 'in flight'}>"
