# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Python objects across ranks.

The bytes are pickles, and unpickling runs code. They travel only as the payload of collectives
among the ranks of this job, which have proved that they hold the job's key; nothing is ever
unpickled from an unauthenticated socket.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from .process_set import ProcessSet, global_process_set

if TYPE_CHECKING:
    from .engine import Engine


def broadcast_object(engine: Engine, obj: Any = None, root_rank: int = 0,
                     name: Optional[str] = None,
                     process_set: Union[ProcessSet, int] = global_process_set) -> Any:
    name = f"broadcast_object.{name or 'object'}"
    at_root = engine.rank() == root_rank
    sent = pickle.dumps(obj) if at_root else b""
    size = np.array([len(sent)], np.int64)
    engine.broadcast_(size, root_rank, name=f"{name}.size", process_set=process_set)
    if at_root:
        engine.broadcast(np.frombuffer(sent, np.uint8), root_rank, name=f"{name}.data",
                         process_set=process_set)
        return obj
    data = np.empty(int(size[0]), np.uint8)
    engine.broadcast_(data, root_rank, name=f"{name}.data", process_set=process_set)
    return pickle.loads(data.data)


def allgather_object(engine: Engine, obj: Any, name: Optional[str] = None,
                     process_set: Union[ProcessSet, int] = global_process_set) -> list[Any]:
    name = f"allgather_object.{name or 'object'}"
    data = np.frombuffer(pickle.dumps(obj), np.uint8)
    sizes = engine.allgather_async(np.array([data.size], np.int64), name=f"{name}.size",
                                   process_set=process_set)
    everything = engine.allgather(data, name=f"{name}.data", process_set=process_set)
    ends = np.cumsum(sizes.wait())
    return [pickle.loads(part.data) for part in np.split(everything, ends[:-1])]
