# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Who is who in the job of the default engine, and which parts of it have sets of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .current import is_initialized as is_initialized
from .current import on_current
from .current import shutdown as shutdown
from .engine import Engine
from .exports import defined_names

rank = on_current(Engine.rank)
size = on_current(Engine.size)
local_rank = on_current(Engine.local_rank)
local_size = on_current(Engine.local_size)
cross_rank = on_current(Engine.cross_rank)
cross_size = on_current(Engine.cross_size)
add_process_set = on_current(Engine.add_process_set)
remove_process_set = on_current(Engine.remove_process_set)

if not TYPE_CHECKING:
    __all__ = defined_names(globals())
