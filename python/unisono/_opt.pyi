# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled trainer of linear models; unisono.opt speaks in estimators."""

from typing import Any

from . import _core

def train(engine: _core.Engine, begins: Any, columns: Any, values: Any, labels: Any, *,
          width: int, loss: str, solver: str, exchange: str, async_: bool, c: float, epochs: int,
          batch: int, rate: float, threads: int, seed: int, intercept: bool) -> dict[str, Any]: ...
