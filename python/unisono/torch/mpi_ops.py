# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The names that programs import from ``horovod.torch.mpi_ops``; all are those of unisono.torch.

    from unisono.torch.mpi_ops import allreduce_async_, synchronize, size
"""

import typing as _typing

from .. import exports as _exports
from ..errors import HorovodInternalError as HorovodInternalError
from ..process_set import ProcessSet as ProcessSet
from ..process_set import global_process_set as global_process_set
from ..reduce_ops import Adasum as Adasum
from ..reduce_ops import Average as Average
from ..reduce_ops import Max as Max
from ..reduce_ops import Min as Min
from ..reduce_ops import Product as Product
from ..reduce_ops import Sum as Sum
from .basics import *  # noqa: F401,F403
from .built import *  # noqa: F401,F403
from .collectives import *  # noqa: F401,F403
from .compression import Compression as Compression
from .sparse import *  # noqa: F401,F403

if not _typing.TYPE_CHECKING:
    __all__ = _exports.all_names(globals())
