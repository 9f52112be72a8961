# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The graph of a training step, for callers that know it (``follow_graph``)."""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from typing import Any, Optional, Sequence

import numpy as np

from . import _core
from ._core import ReduceOp
from .errors import InvalidArgument


def _index(node: Any) -> int:
    index = operator.index(node)
    if not 0 <= index < 1 << 32:
        raise InvalidArgument(f"{index} is the number of no node")
    return index


@dataclasses.dataclass(frozen=True)
class GraphNode:
    """A node: its name, and the numbers of the nodes that end before it begins. One with a
    ``shape`` is an ``allreduce`` that will be called with that name; any other computes."""

    name: str
    inputs: Sequence[int] = ()
    shape: Optional[Sequence[int]] = None
    dtype: Any = "float32"
    op: ReduceOp = ReduceOp.Average
    prescale: float = 1.0
    postscale: float = 1.0
    codec: str = ""

    def for_core(self) -> tuple[str, list[int], bool, str, list[int], _core.Settings]:
        settings = _core.Settings(op=self.op, prescale=self.prescale, postscale=self.postscale,
                                  codec=self.codec)
        dtype = self.dtype if isinstance(self.dtype, str) else np.dtype(self.dtype).name
        if dtype not in _core.dtypes:
            raise InvalidArgument(f"node {self.name!r}: unisono does not carry elements of type "
                                  f"{dtype}; name one of {', '.join(sorted(_core.dtypes))}")
        # As the engine knows it (submit.py).
        name = str(self.name) if self.shape is None else f"allreduce.{self.name}"
        return (name, [_index(each) for each in self.inputs], self.shape is not None,
                dtype, [operator.index(extent) for extent in self.shape or ()], settings)


def follow(core: _core.Engine, nodes: Sequence[GraphNode], fetches: Sequence[int],
           process_set: int) -> None:
    try:
        given = [node.for_core() for node in nodes]
        wanted = [_index(fetch) for fetch in fetches]
    except Exception:
        # The others wait for this rank, and hear from an empty graph that its own is wrong.
        with contextlib.suppress(Exception):
            core.follow_graph([], [], process_set)
        raise
    core.follow_graph(given, wanted, process_set)
