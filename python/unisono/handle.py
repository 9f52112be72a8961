# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What an asynchronous call returns."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _core
from .exports import defined_names, of_the_package


class Handle:
    """A claim on the result of one call. Dropping it abandons the result, not the work.

    An in-place result on a strided array is written when the handle is waited for.
    """

    __slots__ = ("_tickets", "_finish", "_result")

    def __init__(self, tickets: list[_core.Ticket], finish: Optional[Callable[[], Any]],
                 result: Any = None):
        """finish makes the result once the tickets are done; None when it is known already."""
        self._tickets = tickets
        self._finish = finish
        self._result = result

    def done(self) -> bool:
        """Whether wait() would return or raise at once."""
        return all(ticket.done() for ticket in self._tickets)

    def wait(self, timeout: Optional[float] = None) -> Any:
        """The result. Raises what went wrong, or unisono.Timeout after ``timeout`` seconds, when
        the operation stays in flight and may be waited for again."""
        if timeout is None:
            for ticket in self._tickets:
                ticket.wait()
        else:
            deadline = time.monotonic() + timeout
            for ticket in self._tickets:
                ticket.wait(max(0.0, deadline - time.monotonic()))
        finish = self._finish
        if finish is not None:
            self._result = finish()
            self._finish = None
        return self._result

    def __repr__(self) -> str:
        names = ", ".join(ticket.name for ticket in self._tickets)
        return f"<unisono.Handle {names} {'done' if self.done() else 'in flight'}>"


@of_the_package
def poll(handle: Handle) -> bool:
    """Whether synchronize() would return at once."""
    return handle.done()


@of_the_package
def synchronize(handle: Handle, timeout: Optional[float] = None) -> Any:
    """The result of an asynchronous call. Raises what went wrong, or unisono.Timeout when
    ``timeout`` seconds pass first; the operation stays in flight then."""
    return handle.wait(timeout)


if not TYPE_CHECKING:
    __all__ = defined_names(globals())
