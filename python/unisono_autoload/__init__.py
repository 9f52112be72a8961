# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What torch (2.5 and later) calls at the end of its own import, by the entry point torch.backends.

A package of its own, because it must not import unisono: ``import torch`` fails when this fails, and
most programs that import torch will not use unisono. The backend's code is loaded when a group is
made with it.
"""

import inspect
from typing import Any


def autoload() -> None:
    import torch.distributed as dist
    if not dist.is_available() or hasattr(dist.Backend, "UNISONO"):
        return
    known = inspect.signature(dist.Backend.register_backend).parameters
    wanted: dict[str, Any] = {"extended_api": True, "devices": ["cpu"]}
    more = {key: value for key, value in wanted.items() if key in known}
    dist.Backend.register_backend("unisono", _create, **more)


def _create(*arguments: Any) -> Any:
    from unisono.torch.backend.process_group import create
    return create(*arguments)
