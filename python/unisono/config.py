# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How many threads move data, and in how much memory, decided in the program before init().

    unisono.config(teams=2, threads_per_team=1, buffer_bytes=32 << 20)
    unisono.init()

What is given to init() itself wins over this, and this over the environment. Every rank calls it
with the same values.
"""

from __future__ import annotations

import operator
from typing import Optional

from .current import is_initialized
from .errors import Error, InvalidArgument

# The option of the engine that each argument sets, and its min value.
_OPTIONS = {"teams": ("teams", 1), "threads_per_team": ("team_threads", 1),
            "buffer_bytes": ("fusion_bytes", 0)}
_chosen: dict[str, int] = {}


def config(teams: Optional[int] = None, threads_per_team: Optional[int] = None,
           buffer_bytes: Optional[int] = None) -> dict[str, int]:
    """Sets what the next init() uses; None leaves a value as it is. Returns what is set.

    - teams: buckets that are moved at the same time, each by threads of its own.
    - threads_per_team: threads that share the work of one bucket.
    - buffer_bytes: gradients are fused up to this size, and staged in buffers of it."""
    given = {"teams": teams, "threads_per_team": threads_per_team, "buffer_bytes": buffer_bytes}
    checked = {key: _checked(key, value) for key, value in given.items() if value is not None}
    if checked and is_initialized():
        raise Error("unisono is initialized already, and its threads and buffers are made at "
                    "init(); call unisono.config() before, or unisono.shutdown() first.")
    _chosen.update(checked)
    return dict(_chosen)


def _checked(key: str, value: int) -> int:
    minimum = _OPTIONS[key][1]
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < minimum:
        raise InvalidArgument(f"{key} is {value!r}; give a whole number, {minimum} or more")
    return number


def chosen_options() -> dict[str, str]:
    """What config() has set, as the engine's options."""
    return {_OPTIONS[key][0]: str(value) for key, value in _chosen.items()}


__all__ = ["config"]
