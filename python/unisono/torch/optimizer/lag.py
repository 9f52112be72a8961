# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Pipelined gradients: step k applies the average of step k-1 while that of step k travels.

With lag 1 the exchange has a whole step to hide behind, and the parameters are one step behind.
The first step applies nothing. The cool-down goes back to lag 0 for the last steps: the last
lagged step then applies two averages, one after the other, so that none is lost or applied twice.
"""

from __future__ import annotations

import operator
from typing import Optional

from ...errors import InvalidArgument


class Lag:
    """Which steps are lagged. Pure: the same arguments lead to the same answers on every rank."""

    def __init__(self, lag: int = 0, cool_down_steps: int = 0, total_steps: Optional[int] = None):
        self.lag, self.cool_down_steps = operator.index(lag), operator.index(cool_down_steps)
        self.total_steps = None if total_steps is None else operator.index(total_steps)
        self.step = 0
        if self.lag not in (0, 1):
            raise InvalidArgument(f"lag is {lag}; give 0 (apply at once) or 1 (one step later)")
        if self.cool_down_steps < 0 or (self.total_steps or 0) < 0:
            raise InvalidArgument(f"cool_down_steps is {cool_down_steps} and total_steps "
                                  f"{total_steps}; give 0 or more")
        if self.cool_down_steps and self.total_steps is None:
            raise InvalidArgument(f"cool_down_steps is {cool_down_steps}, and without total_steps "
                                  "nobody knows which steps are the last; give total_steps")

    @property
    def possible(self) -> bool:
        return self.lag == 1

    @property
    def now(self) -> bool:
        """Whether this step applies the gradients of the one before."""
        return self._lagged(self.step)

    @property
    def ends_here(self) -> bool:
        """Whether this step is lagged and the next one is not."""
        return self._lagged(self.step) and not self._lagged(self.step + 1)

    def _lagged(self, step: int) -> bool:
        if self.lag == 0:
            return False
        # Who asks for a cool-down has given total_steps.
        return not self.cool_down_steps or step < (self.total_steps or 0) - self.cool_down_steps
