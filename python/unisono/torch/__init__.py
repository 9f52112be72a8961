# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""unisono for PyTorch: what ``horovod.torch`` offers, under the same names.

    import torch
    import unisono.torch as hvd

    hvd.init()
    model = torch.nn.Linear(10, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

Importing it also registers the torch.distributed backend "unisono", where torch has backends.
"""

from __future__ import annotations

import torch

from ..default import arena_empty, stats
from ..engine import Engine, ReduceOp
from ..errors import (DuplicateName, Error, HorovodInternalError, InvalidArgument, Mismatch,
                      PeerLost, PickleFailed, ShutDown, Stalled, Timeout)
from ..handle import Handle
from ..process_set import ProcessSet, global_process_set
from . import basics, built, collectives, elastic, functions, mpi_ops, sparse
from .basics import *  # noqa: F401,F403: what basics.__all__ lists
from .built import *  # noqa: F401,F403
from .collectives import *  # noqa: F401,F403
from .compression import Compression, Compressor
from .config import config
from .elastic import HostsUpdatedInterrupt
from .functions import *  # noqa: F401,F403
from .optimizer import DistributedOptimizer
from .optimizer.consistency import check_consistent
from .optimizer.gradients import gradients
from .sparse import *  # noqa: F401,F403
from .sync_batch_norm import SyncBatchNorm

Average, Sum, Min, Max = ReduceOp.Average, ReduceOp.Sum, ReduceOp.Min, ReduceOp.Max
Product, Adasum = ReduceOp.Product, ReduceOp.Adasum

__all__ = [
    "DistributedOptimizer", "SyncBatchNorm", "gradients", "check_consistent", "config", "Average",
    "Sum", "Min", "Max", "Product", "Adasum", "ReduceOp", "Compression", "Compressor",
    "ProcessSet", "global_process_set", "Handle", "Engine", "elastic", "mpi_ops", "stats",
    "arena_empty",
    "Error", "HorovodInternalError", "HostsUpdatedInterrupt", "InvalidArgument", "DuplicateName",
    "Mismatch", "PeerLost", "PickleFailed", "ShutDown", "Stalled", "Timeout",
]
# Type checkers follow this form, and no unpacking.
__all__ += basics.__all__
__all__ += built.__all__
__all__ += collectives.__all__
__all__ += functions.__all__
__all__ += sparse.__all__

# Only a torch that was built with torch.distributed has a backend to register.
if torch.distributed.is_available():
    from .backend import process_group
    from .backend.ddp_hook import HookState, ddp_hook

    process_group.register()
    __all__ += ["HookState", "ddp_hook"]
