# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""``__all__`` of a module, made from what is in it, so that no name is written twice.

Type checkers read no computed ``__all__``. They are told the same by the rules for typed packages:
what a module defines is public, and so is what it imports by ``*`` or as ``name as name``. So
modules set ``__all__`` where type checkers do not look, in ``if not TYPE_CHECKING:``.
"""

from __future__ import annotations

import types
from typing import Any, Callable, TypeVar

_C = TypeVar("_C", bound=Callable[..., Any])
_PACKAGE = "unisono"


def of_the_package(call: _C) -> _C:
    """Marks a call that users know as ``unisono.<name>``, wherever it is defined."""
    call.__module__ = _PACKAGE
    return call


def defined_names(namespace: dict[str, Any]) -> list[str]:
    """For a module with code: what it defines itself, and the calls of the package it passes on."""
    homes = (namespace["__name__"], _PACKAGE)
    return [name for name, value in namespace.items()
            if not name.startswith("_") and getattr(value, "__module__", None) in homes]


def all_names(namespace: dict[str, Any]) -> list[str]:
    """For a module that only collects: everything in it but modules. What it needs for itself
    begins with an underscore."""
    return [name for name, value in namespace.items()
            if not name.startswith("_") and not isinstance(value, types.ModuleType)]
