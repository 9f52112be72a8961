# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Where PyTorch tells that a module is about to run, and whether somebody watches steps."""

from __future__ import annotations

import weakref
from typing import Any

import torch
import torch.optim.optimizer as torch_optimizer
from torch.nn.modules.module import register_module_forward_pre_hook


def before_each_module(owner: Any) -> Any:
    """Calls ``owner.before_forward(module)`` before any module runs, as long as the owner lives.
    Returns what removes the hook. An optimizer knows its parameters and not their modules; a
    parameter that several modules share is found in each of them."""
    reference = weakref.ref(owner)

    def hook(module: torch.nn.Module, _: Any) -> None:
        alive = reference()
        if alive is not None:
            alive.before_forward(module)

    return register_module_forward_pre_hook(hook)


def runs_out_of_sight(module: torch.nn.Module) -> bool:
    """Whether the module's submodules run without Python: neither their hooks nor the class of
    their parameters is seen then."""
    return (isinstance(module, torch.jit.ScriptModule)
            or type(module).__name__ == "OptimizedModule")


def step_is_watched(optimizer: Any) -> bool:
    """Whether hooks are registered around the optimizer's step(): they expect one call of it."""
    return any((getattr(optimizer, "_optimizer_step_pre_hooks", None),
                getattr(optimizer, "_optimizer_step_post_hooks", None),
                getattr(torch_optimizer, "_global_optimizer_pre_hooks", None),
                getattr(torch_optimizer, "_global_optimizer_post_hooks", None)))
