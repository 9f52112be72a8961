# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Where PyTorch tells that a gradient is complete, and that a GradScaler is about to read it.

Hooks hold the exchange weakly: an optimizer that nobody uses any more sends nothing.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any, Callable

import torch

_HAS_POST_ACCUMULATE = hasattr(torch.Tensor, "register_post_accumulate_grad_hook")


def on_gradient(parameter: torch.Tensor, owner: Any, call: Callable[[Any], None]) -> Any:
    """Calls ``call(owner)`` after each accumulation into ``parameter.grad``, as long as the owner
    lives. Returns what keeps the hook installed."""
    reference = weakref.ref(owner)

    def hook(*_: Any) -> None:
        alive = reference()
        if alive is not None:
            call(alive)

    if _HAS_POST_ACCUMULATE:
        install: Any = parameter.register_post_accumulate_grad_hook  # torch leaves it untyped
        return install(hook)
    # PyTorch before 2.1: the node that accumulates into .grad is reached through a view of the
    # parameter, and lives only as long as somebody holds it.
    with torch.enable_grad():
        view: Any = parameter.expand_as(parameter)
    node = view.grad_fn.next_functions[0][0]
    return _NodeHook(node, node.register_hook(hook))


class _NodeHook:
    def __init__(self, node: Any, handle: Any):
        self._node, self._handle = node, handle

    def remove(self) -> None:
        self._handle.remove()


def _scalers() -> list[Any]:
    modules: tuple[Any, ...] = (getattr(torch, "amp", None), getattr(torch.cuda, "amp", None))
    return [module.GradScaler for module in modules if hasattr(module, "GradScaler")]


def teach_grad_scalers() -> None:
    """Makes GradScaler exchange the gradients before it unscales them and looks for infinities:
    every rank then sees the same ones, and takes or skips the step like the others."""
    for scaler in _scalers():
        original = scaler.__dict__.get("_unscale_grads_")
        if original is not None and not hasattr(original, "exchanges_first"):
            scaler._unscale_grads_ = _exchanging_first(original)


def _exchanging_first(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def unscale(self: Any, optimizer: Any, *args: Any, **keywords: Any) -> Any:
        prepare = getattr(optimizer, "_before_unscale", None)
        if prepare is not None:
            prepare()
        return original(self, optimizer, *args, **keywords)

    unscale.exchanges_first = True  # type: ignore[attr-defined]  # functions take attributes
    return unscale
