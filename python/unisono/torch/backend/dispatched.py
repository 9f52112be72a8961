# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The backend for versions of torch that have Backends in Python.

torch's dispatcher stands between callers and the Backend, so that profilers, CommDebugMode, the
flight recorder, the NaN check and the checks of TORCH_DISTRIBUTED_DEBUG=DETAIL see every call, and a
group may have another Backend for another device.

What comes back from there is a Work of torch's own that can wait and return a future, and nothing
else: it never says that it is completed, and does not know who sent. So a group that runs on unisono
alone is a UnisonoGroup, whose calls go the same way and return the Work that was made at its end.
Only a group of several backends is torch's own, with Works that can no more than that.
"""

from __future__ import annotations

import threading
import weakref
from datetime import timedelta
from typing import Any, Callable, Optional, Sequence

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from ...errors import Error
from . import short_way
from .calls import NAME
from .member import Member
from .work import Work

CPU = torch.device("cpu")
# Each comes back with a Work. An older name of another is not among them: torch calls an override of
# it for want of one of the newer name, whose own call this then is.
_CALLS = ("allreduce", "allreduce_coalesced", "broadcast", "reduce", "allgather",
          "allgather_coalesced", "all_gather_single", "all_gather_single_coalesced",
          "reduce_scatter", "reduce_scatter_single", "reduce_scatter_single_coalesced", "gather",
          "scatter", "alltoall", "all_to_all_single", "send", "recv", "recv_anysource", "barrier",
          "_end_coalescing")
_torch_allreduce: Any = c10d.ProcessGroup.allreduce
# torch forgets the Python half of a Backend that it puts something around.
_kept: "set[UnisonoBackend]" = set()


# torch's stubs list how C++ is called, with overloads that torch.distributed never uses.
class UnisonoBackend(Member, c10d.Backend):  # type: ignore[misc]
    """A group as torch's dispatcher sees it, and its engine."""

    splits = False

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, is_world: bool):
        c10d.Backend.__init__(self, rank, size)
        self._timeout = timeout
        self._latest = threading.local()
        self.join_group(store, rank, size, timeout, is_world)
        _kept.add(self)

    @property
    def options(self) -> Any:
        return c10d.Backend.Options(NAME, self._timeout)

    @property
    def supports_coalescing(self) -> bool:
        return True

    @property
    def supports_splitting(self) -> bool:
        """A UnisonoGroup splits itself. Of a Backend beside others torch would ask for a part on
        ranks that have none, and a Backend in Python cannot say "none"."""
        return self.splits

    def split(self, *_: Any) -> Any:
        raise Error(f"split_group: a group with other backends beside {NAME} cannot be split, for "
                    "torch asks for a part on ranks that get none; make the parts with "
                    "torch.distributed.new_group()")

    def eager_connect_single_device(self, _: Optional[torch.device]) -> None:
        """The ranks are connected when there is a Backend."""

    def latest(self) -> Optional[Work]:
        """What the last call of this thread returned, if anybody still has it."""
        return getattr(self._latest, "work", lambda: None)()

    def forget_latest(self) -> None:
        self._latest.work = lambda: None

    def short_all_reduce(self, tensor: torch.Tensor, opts: Any) -> Optional[Work]:
        """Without torch's dispatcher; None where the long way has to be taken."""
        if self._held is not None:
            return None
        return short_way.all_reduce(self._group, tensor, opts.reduceOp, self._limit(opts))

    def end_coalescing(self, *_: Any) -> Work:
        work = super().end_coalescing()
        self._latest.work = weakref.ref(work)
        return work

    def _issued(self, work: Work) -> Work:
        self._latest.work = weakref.ref(work)
        return super()._issued(work)

    def shutdown(self) -> None:
        super().shutdown()
        _kept.discard(self)

    abort = shutdown


# torch asks a Backend in Python by properties, and one that is not overridden asks itself again.
for _name, _value in vars(c10d.Backend).items():
    if isinstance(_value, property) and "supports" in _name and _name not in vars(UnisonoBackend):
        setattr(UnisonoBackend, _name, property(lambda _: False))


class _Checked(UnisonoBackend):
    """What torch puts around a Backend for its checks, behind a Backend in Python.

    torch holds the GIL while a group in Python calls what is in C++, and the checks wait there for
    threads of Gloo that need it: for ever. A call from Python lets go of it."""

    def __init__(self, checks: Any, backend: UnisonoBackend):
        c10d.Backend.__init__(self, backend.rank(), backend.size())
        self._checks, self._behind = checks, backend
        self._timeout = backend._timeout

    def start_coalescing(self, *_: Any) -> None:
        self._checks._start_coalescing()

    def end_coalescing(self, *_: Any) -> Any:
        return self._checks._end_coalescing()

    def monitored_barrier(self, *arguments: Any) -> None:
        self._behind.monitored_barrier(*arguments)

    def set_timeout(self, timeout: timedelta) -> None:
        self._behind.set_timeout(timeout)

    def shutdown(self) -> None:
        self._behind.shutdown()

    abort = shutdown


def _through_checks(name: str) -> Callable[..., Any]:
    def call(self: _Checked, *arguments: Any) -> Any:
        return getattr(self._checks, name)(*arguments)

    call.__name__ = name
    return call


for _name in (*_CALLS, "allreduce_sparse", "_get_sequence_number_for_group",
              "_set_sequence_number_for_group"):
    if _name in vars(c10d.Backend) and _name != "_end_coalescing":
        setattr(_Checked, _name, _through_checks(_name))


class UnisonoGroup(c10d.ProcessGroup):
    """A process group that runs on backend unisono alone."""

    def __init__(self, group_store: Any, backend: UnisonoBackend, seen: Any):
        """seen: what the dispatcher shall call, the backend or something around it."""
        super().__init__(group_store, backend.rank(), backend.size())
        self._behind, self._seen = backend, seen
        self._watchers = short_way.Watchers(self, checked=seen is not backend)
        backend.splits = True
        custom = c10d.ProcessGroup.BackendType.CUSTOM
        self._register_backend(CPU, custom, seen)
        self._set_default_backend(custom)

    def getBackendName(self) -> str:
        return NAME

    def name(self) -> str:
        return NAME

    def gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Work:
        # The only call that torch does not bring to a Backend in Python.
        return self._behind.gather_single(output, tensor, opts)

    gather_into_tensor = gather_single  # type: ignore[assignment]

    def allreduce(self, tensors: Sequence[torch.Tensor],  # type: ignore[override]
                  opts: Any = None) -> Any:
        # pybind11 goes by the name of this function: see _through_torch.
        if opts is not None and len(tensors) == 1 and not self._watchers.look_on():
            work = self._behind.short_all_reduce(tensors[0], opts)
            if work is not None:
                return work
        self._behind.forget_latest()
        seen = _torch_allreduce(self, tensors, opts or c10d.AllreduceOptions())
        return self._behind.latest() or seen

    def register_pre_hook(self, hook_id: int, hook: Any) -> None:
        self._watchers.hooked()
        super().register_pre_hook(hook_id, hook)

    def register_post_hook(self, hook_id: int, hook: Any) -> None:
        self._watchers.hooked()
        super().register_post_hook(hook_id, hook)

    def _get_sequence_number_for_group(self) -> int:
        return self._behind._get_sequence_number_for_group()

    def set_timeout(self, timeout: timedelta) -> None:
        self._behind.set_timeout(timeout)

    def split_group(self, ranks: Sequence[int], timeout: Optional[timedelta] = None,
                    opts: Any = None, group_name: Any = None, group_desc: Optional[str] = None,
                    device_types: Any = None) -> Optional["UnisonoGroup"]:
        """A group of some of the ranks; None on the others."""
        if self.rank() not in ranks:
            return None
        store = c10d.PrefixStore(f"{group_name}/", self.get_group_store())
        timeout = timeout or getattr(opts, "timeout", None) or self._behind._timeout
        group = make_group(store, list(ranks).index(self.rank()), len(ranks), timeout, False,
                           group_name, store)
        group._set_group_name(group_name)
        group._set_group_desc(group_desc or "undefined")
        return group

    def shutdown(self) -> None:
        """Leaves the group; what is pending fails with unisono.ShutDown."""
        self._behind.shutdown()

    abort = shutdown

    def __del__(self) -> None:
        if hasattr(self, "_behind"):
            self.shutdown()


def _through_torch(name: str) -> Callable[..., Any]:
    """The call of this name, which goes through torch's dispatcher to the Backend."""
    plain_call = getattr(c10d.ProcessGroup, name)

    def call(self: UnisonoGroup, *arguments: Any, **keywords: Any) -> Any:
        self._behind.forget_latest()
        work = plain_call(self, *arguments, **keywords)
        return self._behind.latest() or work

    # pybind11 takes a call from an override of the same name for one of its base class, and from
    # any other for one of the override, which would come back here.
    call.__code__ = call.__code__.replace(co_name=name)
    call.__name__ = name
    return call


for _name in _CALLS:
    if _name not in vars(UnisonoGroup):
        setattr(UnisonoGroup, _name, _through_torch(_name))


def make_group(store: Any, rank: int, size: int, timeout: timedelta, is_world: bool,
               group_name: str, group_store: Any) -> UnisonoGroup:
    backend = UnisonoBackend(store, rank, size, timeout, is_world)
    return UnisonoGroup(group_store, backend, _checked(backend, store, timeout, group_name))


def _checked(backend: UnisonoBackend, store: Any, timeout: timedelta, group_name: str) -> Any:
    """With TORCH_DISTRIBUTED_DEBUG=DETAIL what torch puts around every Backend, else the backend."""
    from torch.distributed import distributed_c10d
    wrap = getattr(distributed_c10d, "_create_process_group_wrapper", None)
    if wrap is None or c10d.get_debug_level() != c10d.DebugLevel.DETAIL \
            or not dist.is_gloo_available():
        return backend
    return _Checked(wrap(wrapped_pg=backend, store_prefix=group_name, store=store,
                         rank=backend.rank(), world_size=backend.size(), timeout=timeout), backend)


def backend_of(group: Any) -> Optional[UnisonoBackend]:
    """The backend that serves a group's CPU tensors, if it is one of ours."""
    if isinstance(group, UnisonoGroup):
        return group._behind
    try:
        found = group._get_backend(CPU)
    except RuntimeError:
        return None
    while not isinstance(found, UnisonoBackend) and hasattr(found, "wrapped_pg"):
        found = found.wrapped_pg
    return found if isinstance(found, UnisonoBackend) else None


def create(options: Any) -> Any:
    """torch's creator. A Backend where the group is to have others, too: torch takes a group of ours
    for all there is. It does not say which others, but what it has chosen for the default one."""
    others = options.process_group.name() != "custom"
    where = (options.store, options.group_rank, options.group_size, options.timeout,
             not dist.is_initialized())
    if others:
        return UnisonoBackend(*where)
    return make_group(*where, options.group_id, options.process_group.get_group_store())
