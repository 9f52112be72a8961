# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""An argument made ready for the engine."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

from . import _core


class EngineArray(NamedTuple):
    """What the engine sees, and how results return to the caller."""

    memory: Any  # contiguous; its bits are of type dtype. To be submitted once
    dtype: str  # "" when the memory says it itself
    wrap: Callable[[_core.Ticket], Any]  # an engine-owned result, as the caller's kind of array
    rows: Callable[[list[int]], Any]  # row counts, as the caller's kind of array
    restore: Optional[Callable[[], Any]]  # copies an in-place result back; None when not needed
