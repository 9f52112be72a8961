# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that end in the next forward pass: each layer waits for its own gradients only."""

from .arguments import PARTITION_BYTES, checked_schedule
from .exchange import DeferredExchange
from .mixin import ScheduledMixin
from .order_of_use import OrderOfUse
from .transfers import make_transfer

__all__ = ["PARTITION_BYTES", "DeferredExchange", "OrderOfUse", "ScheduledMixin",
           "checked_schedule", "make_transfer"]
