# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The engine as an object: what ``unisono.allreduce()`` and its kin call on the default one.

Thread safety: every method may be called from any thread. Several engines may live in one process.
Arguments after the tensor (and root or splits) are given by name.
"""

from __future__ import annotations

import math
import os
from typing import Any, Callable, Iterable, Optional, Sequence, Union

import numpy as np

from . import _core, objects
from ._core import ReduceOp
from .codecs import CodecStates
from .errors import InvalidArgument
from .graph import GraphNode, follow
from .handle import Handle
from .process_set import ProcessSet, global_process_set, identity_of
from .sparse import SparseCalls
from .submit import AnySet, Groups, Tensor, chosen_operator
from .workers import WorkerInit

_ALL = global_process_set
_KIND = _core.Collective


def make_options(options: Union[_core.Options, dict[str, Any], None],
                 overrides: dict[str, Any]) -> _core.Options:
    """The environment's options, or the given ones, with the overrides on top."""
    if isinstance(options, dict):
        overrides = {**options, **overrides}
        options = None
    made = options.copy() if options is not None else _core.Options.from_environment()
    for key, value in overrides.items():
        made.set(key, str(value).lower() if isinstance(value, bool) else str(value))
    return made


class Engine(SparseCalls, CodecStates):
    """Joins the job that the environment describes (unisono run, torchrun, mpirun, srun), or a job
    of one when there is none; with ``world`` and ``rank``, joins as a thread of this process.

    ``environment`` stands in for the process's when it comes to who this rank is and where rank 0
    listens. ``options`` is an unisono.Options or a dict; keywords set single options by name.
    """

    def __init__(self, options: Union[_core.Options, dict[str, Any], None] = None, *,
                 world: Optional[_core.ThreadWorld] = None, rank: int = 0,
                 environment: Optional[dict[str, str]] = None, **overrides: Any):
        super().__init__(
            _core.Engine.join(make_options(options, overrides), world, rank, environment))
        self._identity = self._core.identity
        self._sets: list[ProcessSet] = []

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: Any) -> None:
        self.shutdown()

    def __repr__(self) -> str:
        return f"<unisono.Engine rank {self.rank()} of {self.size()}>"

    def shutdown(self) -> None:
        """Leaves the job; what is pending fails with unisono.ShutDown. Safe to call twice."""
        self._core.shutdown()
        while self._sets:
            _forget(self._sets.pop())

    def rank(self) -> int:
        """This rank's number in the job, from 0."""
        return self._identity.rank

    def size(self) -> int:
        """How many ranks the job has."""
        return self._identity.size

    def local_rank(self) -> int:
        """This rank's number on its host."""
        return self._identity.local_rank

    def local_size(self) -> int:
        """How many ranks this host runs."""
        return self._identity.local_size

    def cross_rank(self) -> int:
        """The number of this host among those that run a rank of this local number."""
        return self._identity.cross_rank

    def cross_size(self) -> int:
        """How many hosts run a rank of this local number."""
        return self._identity.cross_size

    def options(self) -> _core.Options:
        return self._core.options

    def placement(self) -> dict[str, Union[list[int], str]]:
        """Which CPUs are whose, by the option cpu_sets: ``engine`` (bound already), ``input`` and
        ``compute`` (``bind_compute()``, ``bind_input()`` and ``worker_init()`` bind the program's
        own), all empty when there is no plan, and the ``reason`` in a sentence."""
        return self._core.placement()

    def bind_compute(self) -> int:
        """Binds the threads of this process to the compute CPUs of ``placement()``, but the engine's
        and those on the input CPUs; what they start inherits it. Where ranks are threads of one
        process, the calling thread alone. Returns how many threads have those CPUs now; 0, and
        nothing is changed, when there is no plan."""
        return self._core.bind_compute()

    def bind_input(self) -> None:
        """Binds the calling thread, and what it starts, to the input pipeline's CPUs, or to the
        compute's where it has none of its own. For a thread that loads data."""
        self._core.bind_input()

    def worker_init(self, then: Optional[Callable[[int], object]] = None) -> WorkerInit:
        """Returns what a process that loads data calls when it begins, such as the
        ``worker_init_fn`` of torch's ``DataLoader``: it binds itself to the input pipeline's CPUs,
        and calls ``then`` with its number."""
        sets = self.placement()
        cpus = sets["input"] or sets["compute"]
        assert isinstance(cpus, list)
        return WorkerInit(cpus, then)

    def stats(self) -> dict[str, Any]:
        """Counters since the engine joined; order_digest is equal on ranks that agree. ``verdict``
        says in a sentence which rank the others wait for, ``slow_rank`` its number or -1.
        ``order`` says whether steps follow a plan, and why or why not; ``codecs`` what was saved."""
        return self._core.stats()

    def timings(self) -> list[dict[str, Union[int, float, str]]]:
        """Where the time of the last 2,048 tensors went on this rank, oldest first: negotiation,
        waiting for other tensors, packing, waiting for data, moving, unpacking (microseconds)."""
        return self._core.timings()

    def explain(self) -> str:
        """Which algorithms allreduces over messages run for which sizes, and why: what links cost,
        what was tried, how long it took. Ranks that share memory need none."""
        return self._core.explain()

    def start_timeline(self, file_path: str, mark_cycles: bool = False) -> None:
        """Writes where the time of every tensor goes to a file for chrome://tracing or Perfetto,
        from now until stop_timeline() or shutdown(). Rank 0 writes the file itself, rank 3 beside
        it (``run.json``, ``run.3.json``). mark_cycles shows where negotiation rounds begin."""
        self._core.start_timeline(os.fspath(file_path), bool(mark_cycles))

    def stop_timeline(self) -> None:
        """Writes what is left of the timeline and closes its file."""
        self._core.stop_timeline()

    def switch_order(self, strategy: str, process_set: AnySet = _ALL) -> None:
        """All ranks go on with another ordering strategy (coordinator, tree, cache, topo,
        auto, program); nothing in flight is lost. Collective: every rank of the set calls it."""
        self._core.switch_order(strategy, identity_of(process_set))

    def follow_graph(self, nodes: Sequence[GraphNode], fetches: Sequence[int],
                     process_set: AnySet = _ALL) -> None:
        """From here on the order of allreduces follows from the graph of a step (``GraphNode``) and
        the numbers of the nodes that are fetched: without a message, from the first step on.
        Collective: every rank of the set gives the same graph, or all of them raise. A step that
        differs from the graph is negotiated, and its order learned."""
        follow(self._core, nodes, fetches, identity_of(process_set))

    def arena_empty(self, shape: Union[int, tuple[int, ...]], dtype: Any = "float32") -> np.ndarray:
        """An array in memory that all ranks of this host map: in-place collectives on it need no
        copies. It is zero at first and freed with its last view. The price: while it is being
        reduced, a rank's death leaves it undefined, even with keep_inputs."""
        dtype = np.dtype(dtype)
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        return self._core.arena_bytes(count * dtype.itemsize).view(dtype).reshape(shape)

    def allreduce(self, tensor: Tensor, *, name: Optional[str] = None,
                  op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                  prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                  process_set: AnySet = _ALL, priority: int = 0, codec: str = "",
                  keep_inputs: bool = False, team: int = 0) -> Tensor:
        """The reduction of every rank's tensor, as a new tensor. op defaults to Average; codec
        ("none", "fp16" or "bf16") to the job's option of that name. With keep_inputs a failure
        leaves the output as it was; otherwise it is undefined then. team: which of the job's
        teams moves it, from 1 to the option of that name; 0: any."""
        return self._allreduce(tensor, False, name, op, average, prescale_factor,
                               postscale_factor, process_set, priority, codec, keep_inputs,
                               team).wait()

    def allreduce_async(self, tensor: Tensor, *, name: Optional[str] = None,
                        op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                        prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                        process_set: AnySet = _ALL, priority: int = 0, codec: str = "",
                        keep_inputs: bool = False, team: int = 0) -> Handle:
        """Like allreduce(), at once; the tensor is left alone until the handle is done."""
        return self._allreduce(tensor, False, name, op, average, prescale_factor,
                               postscale_factor, process_set, priority, codec, keep_inputs, team)

    def allreduce_(self, tensor: Tensor, *, name: Optional[str] = None,
                   op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                   prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                   process_set: AnySet = _ALL, priority: int = 0, codec: str = "",
                   keep_inputs: bool = False, team: int = 0) -> Tensor:
        """Like allreduce(), writing the result into the tensor."""
        return self._allreduce(tensor, True, name, op, average, prescale_factor,
                               postscale_factor, process_set, priority, codec, keep_inputs,
                               team).wait()

    def allreduce_async_(self, tensor: Tensor, *, name: Optional[str] = None,
                         op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                         prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                         process_set: AnySet = _ALL, priority: int = 0, codec: str = "",
                         keep_inputs: bool = False, team: int = 0) -> Handle:
        """Like allreduce_(), at once."""
        return self._allreduce(tensor, True, name, op, average, prescale_factor,
                               postscale_factor, process_set, priority, codec, keep_inputs, team)

    def grouped_allreduce(self, tensors: Sequence[Tensor], *, name: Optional[str] = None,
                          op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                          prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                          process_set: AnySet = _ALL, num_groups: Optional[int] = None,
                          groups: Optional[Groups] = None, codec: str = "",
                          keep_inputs: bool = False, team: int = 0) -> list[Tensor]:
        """Many tensors that become ready, travel and are checked as one group, or as several:
        num_groups cuts the list into runs of as many tensors, groups lists the indices of each
        (see split_groups()). Groups are independent; group i is named ``name.i``."""
        return self._grouped_allreduce(tensors, False, name, op, average, prescale_factor,
                                       postscale_factor, process_set, num_groups, groups,
                                       codec, keep_inputs, team).wait()

    def grouped_allreduce_async(self, tensors: Sequence[Tensor], *, name: Optional[str] = None,
                                op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                                prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                                process_set: AnySet = _ALL, num_groups: Optional[int] = None,
                                groups: Optional[Groups] = None, codec: str = "",
                                keep_inputs: bool = False, team: int = 0) -> Handle:
        return self._grouped_allreduce(tensors, False, name, op, average, prescale_factor,
                                       postscale_factor, process_set, num_groups, groups,
                                       codec, keep_inputs, team)

    def grouped_allreduce_(self, tensors: Sequence[Tensor], *, name: Optional[str] = None,
                           op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                           prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                           process_set: AnySet = _ALL, num_groups: Optional[int] = None,
                           groups: Optional[Groups] = None, codec: str = "",
                           keep_inputs: bool = False, team: int = 0) -> list[Tensor]:
        return self._grouped_allreduce(tensors, True, name, op, average, prescale_factor,
                                       postscale_factor, process_set, num_groups, groups,
                                       codec, keep_inputs, team).wait()

    def grouped_allreduce_async_(self, tensors: Sequence[Tensor], *, name: Optional[str] = None,
                                 op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                                 prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                                 process_set: AnySet = _ALL, num_groups: Optional[int] = None,
                                 groups: Optional[Groups] = None, codec: str = "",
                                 keep_inputs: bool = False, team: int = 0) -> Handle:
        return self._grouped_allreduce(tensors, True, name, op, average, prescale_factor,
                                       postscale_factor, process_set, num_groups, groups,
                                       codec, keep_inputs, team)

    def allgather(self, tensor: Tensor, *, name: Optional[str] = None,
                  process_set: AnySet = _ALL) -> Tensor:
        """Every rank's rows, in rank order; first dimensions may differ."""
        return self.allgather_async(tensor, name=name, process_set=process_set).wait()

    def allgather_async(self, tensor: Tensor, *, name: Optional[str] = None,
                        process_set: AnySet = _ALL) -> Handle:
        return self._submit(_KIND.allgather, tensor, False, name, self._settings(process_set))

    def grouped_allgather(self, tensors: Sequence[Tensor], *, name: Optional[str] = None,
                          process_set: AnySet = _ALL) -> list[Tensor]:
        return self.grouped_allgather_async(tensors, name=name, process_set=process_set).wait()

    def grouped_allgather_async(self, tensors: Sequence[Tensor], *, name: Optional[str] = None,
                                process_set: AnySet = _ALL) -> Handle:
        return self._submit_group(_KIND.allgather, tensors, False, name,
                                  self._settings(process_set))

    def broadcast(self, tensor: Tensor, root_rank: int, *, name: Optional[str] = None,
                  process_set: AnySet = _ALL) -> Tensor:
        """The tensor of root_rank, a rank of the whole job, as a new tensor on every rank."""
        return self.broadcast_async(tensor, root_rank, name=name, process_set=process_set).wait()

    def broadcast_async(self, tensor: Tensor, root_rank: int, *, name: Optional[str] = None,
                        process_set: AnySet = _ALL) -> Handle:
        settings = self._settings(process_set, root=root_rank)
        return self._submit(_KIND.broadcast, tensor, False, name, settings)

    def broadcast_(self, tensor: Tensor, root_rank: int, *, name: Optional[str] = None,
                   process_set: AnySet = _ALL) -> Tensor:
        return self.broadcast_async_(tensor, root_rank, name=name, process_set=process_set).wait()

    def broadcast_async_(self, tensor: Tensor, root_rank: int, *, name: Optional[str] = None,
                         process_set: AnySet = _ALL) -> Handle:
        settings = self._settings(process_set, root=root_rank)
        return self._submit(_KIND.broadcast, tensor, True, name, settings)

    def reducescatter(self, tensor: Tensor, *, name: Optional[str] = None,
                      op: Optional[ReduceOp] = None, prescale_factor: float = 1.0,
                      postscale_factor: float = 1.0, process_set: AnySet = _ALL) -> Tensor:
        """This rank's rows of the reduction; earlier ranks take the remainder rows."""
        return self.reducescatter_async(
            tensor, name=name, op=op, prescale_factor=prescale_factor,
            postscale_factor=postscale_factor, process_set=process_set).wait()

    def reducescatter_async(self, tensor: Tensor, *, name: Optional[str] = None,
                            op: Optional[ReduceOp] = None, prescale_factor: float = 1.0,
                            postscale_factor: float = 1.0, process_set: AnySet = _ALL) -> Handle:
        settings = self._settings(process_set, op=chosen_operator(None, op),
                                  prescale=prescale_factor, postscale=postscale_factor)
        return self._submit(_KIND.reducescatter, tensor, False, name, settings)

    def grouped_reducescatter(self, tensors: Sequence[Tensor], *, name: Optional[str] = None,
                              op: Optional[ReduceOp] = None, prescale_factor: float = 1.0,
                              postscale_factor: float = 1.0,
                              process_set: AnySet = _ALL) -> list[Tensor]:
        return self.grouped_reducescatter_async(
            tensors, name=name, op=op, prescale_factor=prescale_factor,
            postscale_factor=postscale_factor, process_set=process_set).wait()

    def grouped_reducescatter_async(self, tensors: Sequence[Tensor], *, name: Optional[str] = None,
                                    op: Optional[ReduceOp] = None, prescale_factor: float = 1.0,
                                    postscale_factor: float = 1.0,
                                    process_set: AnySet = _ALL) -> Handle:
        settings = self._settings(process_set, op=chosen_operator(None, op),
                                  prescale=prescale_factor, postscale=postscale_factor)
        return self._submit_group(_KIND.reducescatter, tensors, False, name, settings)

    def alltoall(self, tensor: Tensor, splits: Optional[Iterable[int]] = None, *,
                 name: Optional[str] = None, process_set: AnySet = _ALL) -> Any:
        """Sends splits[i] rows to rank i. Returns (rows received, how many from each rank), or the
        rows alone when no splits were given and the parts are equal."""
        return self.alltoall_async(tensor, splits, name=name, process_set=process_set).wait()

    def alltoall_async(self, tensor: Tensor, splits: Optional[Iterable[int]] = None, *,
                       name: Optional[str] = None, process_set: AnySet = _ALL) -> Handle:
        rows = [] if splits is None else [int(count) for count in splits]
        settings = self._settings(process_set, splits=rows)
        return self._submit(_KIND.alltoall, tensor, False, name, settings,
                            with_splits=splits is not None)

    def barrier(self, process_set: AnySet = _ALL) -> None:
        """Returns when every rank of the set has called it."""
        self._core.barrier(identity_of(process_set)).wait()

    def join(self, device: int = -1) -> int:
        """This rank has no more data: it contributes the neutral element until every rank has
        joined. Returns the last rank that joined. The device is accepted for Horovod's sake."""
        ticket = self._core.join_ranks(0)
        ticket.wait()
        return ticket.value

    def poll(self, handle: Handle) -> bool:
        """Whether synchronize() would return at once."""
        return handle.done()

    def synchronize(self, handle: Handle, timeout: Optional[float] = None) -> Any:
        """The result of an asynchronous call; see Handle.wait()."""
        return handle.wait(timeout)

    def broadcast_object(self, obj: Any = None, root_rank: int = 0, *, name: Optional[str] = None,
                         process_set: AnySet = _ALL) -> Any:
        """root_rank's object on every rank. Travels as a pickle inside an authenticated
        collective, so it unpickles only what ranks of this very job have sent."""
        return objects.broadcast_object(self, obj, root_rank, name, process_set)

    def allgather_object(self, obj: Any, *, name: Optional[str] = None,
                         process_set: AnySet = _ALL) -> list[Any]:
        """Every rank's object, in rank order; travels as broadcast_object() does."""
        return objects.allgather_object(self, obj, name, process_set)

    def add_process_set(self, process_set: Union[ProcessSet, Iterable[int]]) -> ProcessSet:
        """Registers a subset of ranks. Every rank of the job calls it with the same ranks."""
        if not isinstance(process_set, ProcessSet):
            process_set = ProcessSet(process_set)
        if process_set.process_set_id is not None:
            raise InvalidArgument(f"{process_set!r} is registered already")
        process_set.process_set_id = self._core.add_process_set(process_set.ranks or [])
        process_set._engine = self
        self._sets.append(process_set)
        return process_set

    def remove_process_set(self, process_set: ProcessSet) -> bool:
        """Every rank calls it. False when the set is the whole job or not registered."""
        if not process_set.process_set_id:
            return False
        self._core.remove_process_set(process_set.process_set_id)
        self._sets[:] = [each for each in self._sets if each is not process_set]
        _forget(process_set)
        return True


def _forget(process_set: ProcessSet) -> None:
    """The set may be registered again, with this engine or with the next."""
    process_set.process_set_id = process_set._engine = None


__all__ = ["AnySet", "Engine", "ReduceOp", "make_options"]
