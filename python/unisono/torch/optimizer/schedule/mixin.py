# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What DistributedOptimizer() puts before the user's optimizer class where a schedule was asked for:
whatever looks at the optimizer's state ends the pending steps first."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, SupportsIndex

from ....errors import Error
from .exchange import DeferredExchange

if TYPE_CHECKING:
    _Wrapped = Any  # DistributedMixin and the optimizer's own class follow in the made one
else:
    _Wrapped = object


class ScheduledMixin(_Wrapped):
    """Comes before DistributedMixin."""

    _exchange: DeferredExchange
    param_groups: list[dict[str, Any]]

    @property
    def state(self) -> Any:
        exchange = self.__dict__.get("_exchange")
        if exchange is not None and not exchange.applying:
            exchange.end_all()
        return self.__dict__["state"]

    @state.setter
    def state(self, state: Any) -> None:
        self.__dict__["state"] = state

    def synchronize(self) -> None:
        if not self._exchange.finish_step():
            super().synchronize()

    def zero_grad(self, set_to_none: bool = True, *args: Any, **keywords: Any) -> None:
        pending = self._exchange.zero_pending(set_to_none)
        if not pending:
            super().zero_grad(set_to_none, *args, **keywords)
            return
        whole = self.param_groups
        self.param_groups = [{**group, "params": [each for each in group["params"]
                                                  if id(each) not in pending]} for group in whole]
        try:
            super().zero_grad(set_to_none, *args, **keywords)
        finally:
            self.param_groups = whole

    def load_state_dict(self, *args: Any, **keywords: Any) -> None:
        with contextlib.suppress(Error):  # what could not be ended has been dropped
            self._exchange.end_all()
        super().load_state_dict(*args, **keywords)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        self._exchange.end_all()
        reduced: tuple[Any, ...] = super().__reduce_ex__(protocol)
        return reduced
