# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What the backend's asynchronous calls return to torch.

``wait()`` waits on the engine's tickets itself. A future needs somebody to complete it: a thread of
the group, a ``FutureThread``. It starts when the first future is asked for (DDP does), else never.
"""

from __future__ import annotations

import queue
import threading
import time
from datetime import timedelta
from typing import Any, Callable, Optional, Sequence, Union

import torch
from torch._C import _distributed_c10d as c10d

from ...errors import Error, Timeout

# The engine's own report of a stall names the missing ranks; it has this long to arrive.
STALL_REPORT_S = 2.0


class OneFutureThread:
    """Completes one future: its thread ends with it, so nobody needs to close it."""

    def call(self, action: Callable[[], Any]) -> None:
        threading.Thread(target=action, daemon=True, name="unisono-future").start()


class FutureThread:
    """Completes futures of one engine, in the order in which they were asked for.

    The thread belongs to the group and ends with close(). It sleeps while nothing is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: Optional[queue.SimpleQueue[Optional[Callable[[], Any]]]] = None

    def call(self, action: Callable[[], Any]) -> None:
        with self._lock:
            if self._queue is None:
                self._queue = queue.SimpleQueue()
                threading.Thread(target=_run, args=(self._queue,), daemon=True,
                                 name="unisono-futures").start()
            self._queue.put(action)

    def close(self) -> None:
        with self._lock:
            if self._queue is not None:
                self._queue.put(None)
                self._queue = None


def _run(actions: queue.SimpleQueue[Optional[Callable[[], Any]]]) -> None:
    while (action := actions.get()) is not None:
        action()
        # A tensor must not live on because this thread still remembers its last task.
        del action


def seconds_of(timeout: Union[timedelta, float, None]) -> Optional[float]:
    """torch says "no limit given" as None, zero or a negative time."""
    if timeout is None:
        return None
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
    return seconds if seconds > 0 else None


class Work(c10d.Work):
    """One collective, or several under one roof.

    ``finish`` runs once, after the tickets, and puts results where the caller wants them. Tickets
    may come later by start(), when the engine that makes them is still being joined."""

    def __init__(self, what: str, outputs: Sequence[torch.Tensor],
                 futures: Union[FutureThread, OneFutureThread], timeout_s: float,
                 tickets: Optional[Sequence[Any]] = None,
                 finish: Optional[Callable[[], Any]] = None):
        super().__init__()
        self._what, self._outputs, self._futures = what, outputs, futures
        self._timeout_s = timeout_s
        self._tickets, self._finish = tickets, finish
        self._is_simple = finish is None and tickets is not None and len(tickets) == 1
        self._error: Optional[BaseException] = None
        self._lock = threading.Lock()
        self._started = None if tickets is not None else threading.Event()
        self.sender = -1

    def start(self, tickets: Sequence[Any], finish: Optional[Callable[[], Any]] = None) -> None:
        self._tickets, self._finish = tickets, finish
        self._let_go()

    def fail(self, error: BaseException) -> None:
        """Ends a work that never started."""
        self._error, self._tickets = error, ()
        self._let_go()

    def _let_go(self) -> None:
        if self._started is not None:
            self._started.set()

    def wait(self, timeout: Union[timedelta, float, None] = None) -> bool:
        # torch waits for a call once, right after it was made, and most calls are one operation
        # that writes where it shall: nothing else is to be done then.
        if self._is_simple and timeout is None:
            limit_s = self._timeout_s + STALL_REPORT_S
            try:
                self._tickets[0].wait(limit_s)  # type: ignore[index]
            except Timeout as error:
                raise self._late(limit_s, error) from None
            except Error as error:
                self._error = error
                raise
            return True
        given = seconds_of(timeout)
        self._complete(self._timeout_s + STALL_REPORT_S if given is None else given)
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        if self._tickets is None or not all(ticket.done() for ticket in self._tickets):
            return False
        # Who polls instead of waiting expects the outputs to be written.
        self.exception()
        return True

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> Optional[BaseException]:
        if self._tickets is not None and all(ticket.done() for ticket in self._tickets):
            try:
                self._complete(0.0)
            except Exception as error:  # noqa: BLE001: this is the answer
                return error
        return None

    def result(self) -> list[torch.Tensor]:
        return list(self._outputs)

    def source_rank(self) -> int:
        return self.sender

    _source_rank = source_rank

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        trigger: torch.futures.Future[None] = torch.futures.Future()
        # An exception from a callback becomes the future's error for C++ waiters too, which
        # Future.set_exception does not do: those would take the exception for the result.
        future = trigger.then(self._value)
        if self.is_completed():
            trigger.set_result(None)
        else:
            self._futures.call(lambda: self._settle(trigger))
        return future

    def _settle(self, trigger: torch.futures.Future[None]) -> None:
        try:
            self.wait()
        except Exception as error:  # noqa: BLE001: raised by the callback of the future
            self._error = self._error or error
        trigger.set_result(None)

    def _value(self, _: torch.futures.Future[None]) -> list[torch.Tensor]:
        if self._error is not None:
            raise self._error
        return list(self._outputs)

    def _late(self, limit_s: float, error: Timeout) -> Timeout:
        return Timeout(f"{self._what} was not done within {limit_s:g} s. {error}")

    def _complete(self, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        if self._started is not None and not self._started.wait(limit_s):
            raise Timeout(f"{self._what} was not done within {limit_s:g} s: the other rank has not "
                          "come to the rendezvous; see whether it runs and makes the matching call")
        try:
            for ticket in self._tickets or ():
                ticket.wait(max(0.0, deadline - time.monotonic()))
        except Timeout as error:
            raise self._late(limit_s, error) from None
        except Error as error:
            self._error = error
        with self._lock:
            finish, self._finish = self._finish, None
            if finish is not None and self._error is None:
                try:
                    # An output may be a parameter; what it is overwritten with has no history.
                    with torch.no_grad():
                        finish()
                except Exception as error:  # noqa: BLE001: kept for every later wait
                    self._error = error
        if self._error is not None:
            raise self._error


class Several(Work):
    """Works that torch asked for one by one and waits for as one."""

    def __init__(self, works: Sequence[Work], futures: FutureThread, timeout_s: float):
        outputs = [output for work in works for output in work._outputs]
        super().__init__("coalesced operations", outputs, futures, timeout_s, (), None)
        self._works = works

    def is_completed(self) -> bool:
        return all([work.is_completed() for work in self._works])

    def exception(self) -> Optional[BaseException]:
        return next((error for work in self._works if (error := work.exception())), None)

    def _complete(self, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        for work in self._works:
            work._complete(max(0.0, deadline - time.monotonic()))
