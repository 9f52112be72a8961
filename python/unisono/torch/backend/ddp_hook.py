# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A communication hook for DistributedDataParallel.

    model = DistributedDataParallel(model)
    model.register_comm_hook(None, unisono.torch.ddp_hook)

or, with the gradients in half the bytes on their way:

    model.register_comm_hook(HookState(codec="bf16"), unisono.torch.ddp_hook)
    model.register_comm_hook(None, unisono.torch.ddp_hook("ef|topk:512:4|qsgd:4"))

What such a codec has not sent yet is kept by parameter: DDP may arrange its buckets anew. The same
holds where the codec is that of the job's options.

Without a hook DDP's buckets are reduced where torch has put them. The hook copies each bucket to a
place in memory that all ranks of the host map, where the ranks reduce without packing; DDP takes
the averages from there. DDP must run on backend unisono.
"""

import dataclasses
import itertools
from typing import Any, Optional, Union

import torch
from torch._C._distributed_c10d import GradBucket, ReduceOp
from torch.utils.weak import WeakTensorKeyDictionary

from ... import _core
from ...errors import InvalidArgument
from ..compression import is_cast, job_packs
from .group_engine import GroupEngine
from .process_group import group_of


@dataclasses.dataclass
class HookState:
    """What the hook knows between steps. Models may share one."""

    process_group: Any = None  # the world by default
    codec: Optional[str] = None  # how gradients are encoded on the way: "bf16", "ef|topk:512:4"
    arena: bool = True  # reduce in shared memory, at the price of a second copy of the buckets
    _places: dict[int, tuple[torch.Tensor, int]] = dataclasses.field(default_factory=dict,
                                                                     repr=False)
    _calls: int = 0
    # By the parameter itself: the id of one that is gone may be another's.
    _numbers: Any = dataclasses.field(default_factory=WeakTensorKeyDictionary, repr=False)
    _numbered: int = 0
    _number: int = dataclasses.field(default_factory=itertools.count().__next__, repr=False)

    def place_for(self, group: GroupEngine, buffer: torch.Tensor) -> torch.Tensor:
        """The bucket's twin in the arena, known by the memory of the bucket."""
        self._calls += 1
        place = self._places.get(buffer.data_ptr(), (None, 0))[0]
        if place is None or place.dtype != buffer.dtype or place.numel() != buffer.numel():
            self._forget_unused()
            raw = group.engine.arena_empty(buffer.numel() * buffer.element_size(), "uint8")
            place = torch.from_numpy(raw).view(buffer.dtype)
        self._places[buffer.data_ptr()] = place, self._calls
        return place

    def _forget_unused(self) -> None:
        """DDP arranges its buckets anew after the first step; the places of the old ones go."""
        oldest = self._calls - 2 * len(self._places) - 2
        for key in [key for key, (_, last) in self._places.items() if last < oldest]:
            del self._places[key]

    def names_of(self, bucket: GradBucket) -> list[str]:
        """The same for a parameter in every step and on every rank: numbered as they come first,
        which is in the order that DDP has arranged on all ranks alike."""
        return [f"ddp.{self._number}.{self._number_of(each)}" for each in bucket.parameters()]

    def _number_of(self, parameter: torch.Tensor) -> int:
        number: Optional[int] = self._numbers.get(parameter)
        if number is None:
            number = self._numbers[parameter] = self._numbered
            self._numbered += 1
        return number

    def __getstate__(self) -> dict[str, Any]:
        """Places and numbers belong to memory of this process."""
        return {**self.__dict__, "_places": {}, "_numbers": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _numbers=WeakTensorKeyDictionary())


# DDP looks at the annotations of bucket and result, so they are written out and not postponed.
def ddp_hook(state: Union[HookState, Any, None],
             bucket: GradBucket = None) -> torch.futures.Future[torch.Tensor]:  # type: ignore
    """Averages a bucket of gradients. state: a HookState, a process group, or None for the
    world. With a codec alone, ``ddp_hook("ef|topk:512:4")``, a hook that encodes by it."""
    if isinstance(state, str):
        made: torch.futures.Future[torch.Tensor] = _hook_by(state)
        return made
    owner = group_of(state.process_group if isinstance(state, HookState) else state)
    if not isinstance(state, HookState):
        state = owner.hook_state = owner.hook_state or HookState()
    group, buffer = owner.collectives, bucket.buffer()
    if job_packs(group.engine.options()) if state.codec is None else not is_cast(state.codec):
        work = group.all_reduce(bucket.gradients(), ReduceOp.AVG, group.timeout_s,
                                names=state.names_of(bucket), **_encoded(state.codec))
        return work.get_future().then(lambda done: (done.value(), buffer)[1])
    if state.arena and group.size > 1:
        place = state.place_for(group, buffer)
        place.copy_(buffer)
        buffer = place
    work = group.all_reduce([buffer], ReduceOp.AVG, group.timeout_s, **_encoded(state.codec))
    return work.get_future().then(_first)


def _hook_by(codec: str) -> Any:
    _core.canonical_codec(codec)  # raises now, not in the first backward()
    kept = HookState(codec=codec)

    def hook(state: Any, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
        if state is not None:
            kept.process_group = state
        return ddp_hook(kept, bucket)

    return hook


def _first(done: torch.futures.Future[list[torch.Tensor]]) -> torch.Tensor:
    return done.value()[0]


def _encoded(codec: Optional[str]) -> dict[str, str]:
    if codec is None:
        return {}
    if "codec" not in (_core.Settings.__init__.__doc__ or ""):
        raise InvalidArgument(f"this build of unisono has no codecs, and {codec!r} was asked for; "
                              "leave codec out")
    return {"codec": codec}
