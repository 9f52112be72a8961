# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The names that programs import from ``horovod.torch.mpi_ops``; all are those of unisono.torch.

    from unisono.torch.mpi_ops import allreduce_async_, synchronize, size
"""

from __future__ import annotations

from ..engine import ReduceOp
from ..errors import HorovodInternalError
from ..process_set import ProcessSet, global_process_set
from . import basics, built, collectives, sparse
from .basics import *  # noqa: F401,F403: what basics.__all__ lists
from .built import *  # noqa: F401,F403
from .collectives import *  # noqa: F401,F403
from .compression import Compression
from .sparse import *  # noqa: F401,F403

Average, Sum, Min, Max = ReduceOp.Average, ReduceOp.Sum, ReduceOp.Min, ReduceOp.Max
Product, Adasum = ReduceOp.Product, ReduceOp.Adasum

__all__ = ["Average", "Sum", "Adasum", "Min", "Max", "Product", "Compression", "ProcessSet",
           "global_process_set", "HorovodInternalError"]
# Type checkers follow this form, and no unpacking.
__all__ += basics.__all__
__all__ += built.__all__
__all__ += collectives.__all__
__all__ += sparse.__all__
