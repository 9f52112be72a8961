# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Many small checks in one job, because starting a job that imports a framework takes seconds.

Each function marked with @check runs on every rank, in order. checked.py, beside the tests, lists
the names and asks what the ranks said of each. When one has failed, it starts the job anew from the
check after it, named in CHECKS_FROM: so no check may need what another one left behind.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, Callable, Union

_checks: list[Callable[[], Any]] = []


class Skip(Exception):
    """What the check needs is not here; raised on every rank alike."""


def check(function: Callable[[], Any]) -> Callable[[], Any]:
    _checks.append(function)
    return function


def raises(kind: Union[type, tuple[type, ...]], call: Callable[[], Any], *texts: str) -> BaseException:
    """The exception that the call raises, which must be of this kind and contain the texts."""
    try:
        result = call()
    except kind as error:
        for text in texts:
            assert text in str(error), f"{text!r} is not in {error}"
        return error
    raise AssertionError(f"{kind} was not raised; the call returned {result!r}")


def run_all() -> None:
    """Says "ok NAME", "skip NAME: REASON" or "failed NAME" of each check. The first failure ends
    the rank, because its peers are out of step."""
    for function in _chosen():
        try:
            function()
        except Skip as reason:
            _say(f"skip {function.__name__}: {reason}")
            continue
        except BaseException:  # noqa: BLE001: the text says what it was
            _say(f"failed {function.__name__}\n{traceback.format_exc()}")
            os._exit(1)
        _say(f"ok {function.__name__}")


def _chosen() -> list[Callable[[], Any]]:
    first = os.environ.get("CHECKS_FROM")
    if not first:
        return _checks
    known = [function.__name__ for function in _checks]
    return _checks[known.index(first):] if first in known else []


def _say(line: str) -> None:
    # In one piece: the ranks may share a pipe.
    sys.stdout.flush()
    os.write(1, f"{line}\n".encode())
