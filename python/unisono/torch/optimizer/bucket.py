# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients that travel together: one parameter's, or a group's.

A bucket is submitted when the last of its gradients is complete, or at synchronize() with zeros for
those that never came: another rank may have computed them.
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from .tracked import TrackedParameter
from .transfer import Transfer


class Bucket:
    """Gradients of some parameters: they become ready, are submitted as one operation, finish."""

    in_arena = False

    def __init__(self, name: str, parameters: list[TrackedParameter], transfer: Transfer,
                 grouped: bool, prefix: str = ""):
        self.name, self.parameters, self.transfer = name, parameters, transfer
        self.grouped, self.prefix = grouped, prefix  # what goes before the names of parameters
        self.numbered = grouped  # whether the name says nothing about the parameters inside
        self._start_anew()

    def _start_anew(self) -> None:
        self.missing = len(self.parameters)
        # None before submit(); then what finish() waits for, each in the form of its class.
        self.submitted: Optional[list[Any]] = None

    def gradient_ready(self, parameter: TrackedParameter) -> None:
        """The last gradient to come submits the bucket."""
        self.missing -= 1
        if self.missing == 0:
            self.submit()

    def submit(self) -> None:
        """Hands the gradients to the engine, which combines them while the program goes on."""
        dense: list[tuple[TrackedParameter, torch.Tensor]] = []
        sparse: list[tuple[TrackedParameter, torch.Tensor]] = []
        for parameter in self.parameters:
            gradient = parameter.gradient(self.transfer.sparse_as_dense)
            if gradient is not None:
                (sparse if gradient.is_sparse else dense).append((parameter, gradient))
        self.submitted = [(parameter, gradient, gradient._version,
                           self.transfer.sparse(self._name_of(parameter), gradient))
                          for parameter, gradient in sparse]
        if dense:
            calls = self.transfer.dense(self.name, [each for _, each in dense], self.grouped,
                                        [parameter.name for parameter, _ in dense],
                                        self.prefix)
            self.submitted += [(parameter, gradient, gradient._version, call)
                               for (parameter, gradient), call in zip(dense, calls)]

    def _name_of(self, parameter: TrackedParameter) -> str:
        return f"{self.name}.{parameter.name}" if self.grouped else self.name

    def changed(self, lagged: bool) -> Optional[str]:
        """The name of a gradient that the program wrote to while it was under way."""
        for parameter, gradient, version, _ in self.submitted or ():
            if gradient._version != version or not (lagged or parameter.tensor.grad is gradient):
                name: str = parameter.name
                return name
        return None

    def finish(self) -> None:
        """Waits, and makes the results the parameters' gradients."""
        for parameter, _, _, wait in self.submitted or ():
            parameter.set_gradient(wait())
        self._start_anew()

    def abandon(self) -> None:
        self._start_anew()
