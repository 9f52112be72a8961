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

import typing as _typing

import torch as _torch

from .. import exports as _exports
from ..default import arena_empty as arena_empty
from ..default import bind_compute as bind_compute
from ..default import bind_input as bind_input
from ..default import placement as placement
from ..default import stats as stats
from ..default import worker_init as worker_init
from ..engine import Engine as Engine
from ..errors import DuplicateName as DuplicateName
from ..errors import Error as Error
from ..errors import InvalidArgument as InvalidArgument
from ..errors import Mismatch as Mismatch
from ..errors import PeerLost as PeerLost
from ..errors import PickleFailed as PickleFailed
from ..errors import ShutDown as ShutDown
from ..errors import Stalled as Stalled
from ..errors import Timeout as Timeout
from ..handle import Handle as Handle
from ..reduce_ops import ReduceOp as ReduceOp
from . import elastic as elastic
from . import mpi_ops as mpi_ops
from . import outer as outer
from .compression import Compressor as Compressor
from .config import config as config
from .elastic import HostsUpdatedInterrupt as HostsUpdatedInterrupt
from .functions import *  # noqa: F401,F403
from .mpi_ops import *  # noqa: F401,F403: the names of Horovod's own mpi_ops
from .optimizer import DistributedOptimizer as DistributedOptimizer
from .optimizer.consistency import check_consistent as check_consistent
from .optimizer.gradients import gradients as gradients
from .sync_batch_norm import SyncBatchNorm as SyncBatchNorm

# Only a torch that was built with torch.distributed has a backend to register.
if _torch.distributed.is_available():
    from .backend import process_group as _process_group
    from .backend.ddp_hook import HookState as HookState
    from .backend.ddp_hook import ddp_hook as ddp_hook

    _process_group.register()

if not _typing.TYPE_CHECKING:
    __all__ = _exports.all_names(globals()) + ["elastic", "mpi_ops", "outer"]
