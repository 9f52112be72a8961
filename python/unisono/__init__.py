# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient exchange for data-parallel training: named asynchronous collectives.

    import numpy as np
    import unisono

    unisono.init()
    mean = unisono.allreduce(np.ones(4), name="gradient")

Started by ``unisono run -np 2 python train.py``, or by torchrun, mpirun or srun.
"""

import typing as _typing

from . import exports as _exports
from ._core import Options as Options
from ._core import ThreadWorld as ThreadWorld
from ._core import dtypes as dtypes
from ._core import version as __version__
from .codecs import redistribute_codec_states as redistribute_codec_states
from .config import config as config
from .default import *  # noqa: F401,F403: the calls on the default engine
from .engine import Engine as Engine
from .errors import *  # noqa: F401,F403
from .graph import GraphNode as GraphNode
from .groups import split_groups as split_groups
from .handle import *  # noqa: F401,F403
from .process_set import ProcessSet as ProcessSet
from .process_set import global_process_set as global_process_set
from .reduce_ops import *  # noqa: F401,F403

if not _typing.TYPE_CHECKING:
    __all__ = _exports.all_names(globals())
