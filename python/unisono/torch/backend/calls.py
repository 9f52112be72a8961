# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""torch's collectives as a group's engine makes them, under all the names torch has for them.

torch calls the same collective by other names in other versions; each is one line here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Optional, Sequence

import torch
from torch._C import _distributed_c10d as c10d

from ...errors import InvalidArgument, Timeout
from . import rendezvous, short_way
from .group_engine import GroupEngine
from .point_to_point import PointToPoint
from .work import Several, Work, seconds_of

NAME = "unisono"
Tensors = Sequence[torch.Tensor]


class Calls:
    """torch's collectives, under all their names. Thread: any, in the same order on all ranks."""

    _group: GroupEngine
    _point_to_point: PointToPoint
    _store: Any
    _held: Optional[list[Work]] = None  # between start_coalescing and end_coalescing
    _monitored = 0

    if TYPE_CHECKING:
        # Of the ProcessGroup or Backend that comes after this class.
        def rank(self) -> int: ...
        def size(self) -> int: ...

    def getBackendName(self) -> str:
        return NAME

    def name(self) -> str:
        return NAME

    def allreduce(self, tensors: Tensors, opts: Any = None) -> Work:
        opts = opts or c10d.AllreduceOptions()
        op, limit_s, work = opts.reduceOp, self._limit(opts), None
        if len(tensors) == 1:
            work = short_way.all_reduce(self._group, tensors[0], op, limit_s)
        return self._issued(work or self._group.all_reduce(tensors, op, limit_s))

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> Work:
        return self.allreduce(tensors, opts or c10d.AllreduceCoalescedOptions())

    def broadcast(self, tensors: Tensors, opts: Any = None) -> Work:
        opts = opts or c10d.BroadcastOptions()
        return self._issued(self._group.broadcast(_only(tensors, "broadcast"), opts.rootRank,
                                                  self._limit(opts)))

    def reduce(self, tensors: Tensors, opts: Any = None) -> Work:
        opts = opts or c10d.ReduceOptions()
        return self._issued(self._group.reduce(_only(tensors, "reduce"), opts.reduceOp,
                                               opts.rootRank, self._limit(opts)))

    def allgather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any = None) -> Work:
        return self._several([self._group.all_gather(rows, tensor, self._limit(opts))
                              for rows, tensor in zip(outputs, inputs)])

    def allgather_coalesced(self, outputs: Sequence[Tensors], inputs: Tensors,
                            opts: Any = None) -> Work:
        return self.allgather(outputs, inputs, opts)

    def all_gather_single(self, output: torch.Tensor, tensor: torch.Tensor,
                          opts: Any = None) -> Work:
        return self._issued(self._group.all_gather_single(output, tensor, self._limit(opts)))

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outputs: Tensors, inputs: Tensors,
                                    opts: Any = None) -> Work:
        return self._several([self._group.all_gather_single(output, tensor, self._limit(opts))
                              for output, tensor in zip(outputs, inputs)])

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def reduce_scatter(self, outputs: Tensors, inputs: Sequence[Tensors],
                       opts: Any = None) -> Work:
        opts = opts or c10d.ReduceScatterOptions()
        return self._several([
            self._group.reduce_scatter(output, rows, opts.reduceOp, self._limit(opts))
            for output, rows in zip(outputs, inputs)])

    def reduce_scatter_single(self, output: torch.Tensor, tensor: torch.Tensor,
                              opts: Any = None) -> Work:
        return self.reduce_scatter_single_coalesced([output], [tensor], opts)

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outputs: Tensors, inputs: Tensors,
                                        opts: Any = None) -> Work:
        opts = opts or c10d.ReduceScatterOptions()
        return self._several([
            self._group.reduce_scatter_single(output, tensor, opts.reduceOp, self._limit(opts))
            for output, tensor in zip(outputs, inputs)])

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def gather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any = None) -> Work:
        opts = opts or c10d.GatherOptions()
        tensor, root = _only(inputs, "gather"), opts.rootRank
        rows = _only(outputs, "gather") if self.rank() == root else []
        if self.rank() == root and len(rows) != self.size():
            raise InvalidArgument(f"gather: {len(rows)} outputs were given for {self.size()} "
                                  "ranks; give one each")
        sent = [tensor.numel() if rank == root else 0 for rank in range(self.size())]
        expected = [row.numel() for row in rows] or [0] * self.size()
        return self._issued(self._group.exchange("gather", tensor, sent, rows, expected,
                                                 self._limit(opts)))

    def gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Work:
        opts = opts or c10d.GatherOptions()
        root, size, count = opts.rootRank, self.size(), tensor.numel()
        rows, expected = [], [0] * size
        if self.rank() == root:
            rows, expected = [output], [count] * size
            if output.numel() != size * count:
                raise InvalidArgument(f"gather: the output has {output.numel()} elements; {size} "
                                      f"ranks with {count} each need {size * count}")
        sent = [count if rank == root else 0 for rank in range(size)]
        return self._issued(self._group.exchange("gather", tensor, sent, rows, expected,
                                                 self._limit(opts)))

    gather_into_tensor = gather_single

    def scatter(self, outputs: Tensors, inputs: Sequence[Tensors], opts: Any = None) -> Work:
        opts = opts or c10d.ScatterOptions()
        output, root, size = _only(outputs, "scatter"), opts.rootRank, self.size()
        rows = _only(inputs, "scatter") if self.rank() == root else []
        if self.rank() == root and len(rows) != size:
            raise InvalidArgument(f"scatter: {len(rows)} inputs were given for {size} ranks; give "
                                  "one each")
        sent = torch.cat([row.reshape(-1) for row in rows]) if rows else output.new_empty(0)
        expected = [output.numel() if rank == root else 0 for rank in range(size)]
        return self._issued(self._group.exchange(
            "scatter", sent, [row.numel() for row in rows] or [0] * size, [output], expected,
            self._limit(opts)))

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> Work:
        if len(inputs) != self.size() or len(outputs) != self.size():
            raise InvalidArgument(f"all_to_all: {len(inputs)} inputs and {len(outputs)} outputs "
                                  f"were given for {self.size()} ranks; give one of each per rank")
        sent = torch.cat([tensor.reshape(-1) for tensor in inputs])
        return self._issued(self._group.exchange(
            "all_to_all", sent, [tensor.numel() for tensor in inputs], outputs,
            [output.numel() for output in outputs], self._limit(opts)))

    def all_to_all_single(self, output: torch.Tensor, tensor: torch.Tensor,
                          output_splits: Sequence[int], input_splits: Sequence[int],
                          opts: Any = None) -> Work:
        sent = _element_counts(tensor, input_splits, self.size(), "input")
        expected = _element_counts(output, output_splits, self.size(), "output")
        return self._issued(self._group.exchange("all_to_all", tensor, sent, [output], expected,
                                                 self._limit(opts)))

    alltoall_base = all_to_all_single

    def send(self, tensors: Tensors, peer: int, tag: int = 0) -> Work:
        return self._issued(self._point_to_point.send(_only(tensors, "send"), peer, tag))

    def recv(self, tensors: Tensors, peer: int, tag: int = 0) -> Work:
        return self._issued(self._point_to_point.receive(_only(tensors, "recv"), peer, tag))

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> Work:
        return self._issued(self._point_to_point.receive_from_any(_only(tensors, "recv"), tag))

    def barrier(self, opts: Any = None) -> Work:
        return self._issued(self._group.barrier(self._limit(opts)))

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """A barrier that says which ranks never came, on every rank that did. torch passes a
        timeout, or options that hold one."""
        limit_s = seconds_of(getattr(timeout, "timeout", timeout)) or self._group.timeout_s
        self._monitored += 1
        missing = self._roll_call(limit_s) if self.rank() == 0 else self._answer_call(limit_s)
        if missing:
            raise Timeout(f"monitored_barrier: ranks {', '.join(missing)} of the group did not "
                          f"come within {limit_s:g} s; see what they do instead")

    def _roll_call(self, limit_s: float) -> list[str]:
        keys = [f"{self._monitored}/{rank}" for rank in range(1, self.size())]
        store = c10d.PrefixStore("monitored", self._store)
        missing = rendezvous.wait_for(store, keys, time.monotonic() + limit_s)
        absent = [key.partition("/")[2] for key in missing]
        rendezvous.put(store, f"{self._monitored}/verdict", ", ".join(absent))
        rendezvous.remove(store, *(key for key in keys if key not in missing))
        if not missing:
            # Whoever has come here has read what the last one said.
            rendezvous.remove(store, f"{self._monitored - 1}/verdict")
        return absent

    def _answer_call(self, limit_s: float) -> list[str]:
        store = c10d.PrefixStore("monitored", self._store)
        rendezvous.put(store, f"{self._monitored}/{self.rank()}", "1")
        # Rank 0 may have come later than this rank, and then says so later.
        verdict = f"{self._monitored}/verdict"
        if rendezvous.wait_for(store, [verdict], time.monotonic() + 2 * limit_s):
            raise Timeout(f"monitored_barrier: rank 0 said nothing within {2 * limit_s:g} s; "
                          "see whether it runs and calls monitored_barrier() too")
        said = store.get(verdict).decode()
        return said.split(", ") if said else []

    def _get_sequence_number_for_group(self) -> int:
        """How many collectives this rank has begun in the group; the same on all ranks that make
        the same calls."""
        return self._group.sequence

    def _set_sequence_number_for_group(self) -> None:
        """Numbers begin with 0 on every rank, so there is nothing to agree on."""

    def allreduce_sparse(self, tensors: Tensors, opts: Any = None) -> Work:
        return self.allreduce(tensors, opts)

    def start_coalescing(self, *_: Any) -> None:
        self._held = []

    def end_coalescing(self, *_: Any) -> Work:
        works, self._held = self._held or [], None
        return Several(works, self._group.futures, self._group.timeout_s)

    _start_coalescing, _end_coalescing = start_coalescing, end_coalescing

    def _limit(self, opts: Any) -> float:
        return seconds_of(getattr(opts, "timeout", None)) or self._group.timeout_s

    def _issued(self, work: Work) -> Work:
        if self._held is not None:
            self._held.append(work)
        return work

    def _several(self, works: list[Work]) -> Work:
        if len(works) == 1:
            return self._issued(works[0])
        return self._issued(Several(works, self._group.futures, self._group.timeout_s))


def _only(items: Sequence[Any], what: str) -> Any:
    if len(items) != 1:
        raise InvalidArgument(f"{what}: {len(items)} tensors or lists were given; give one")
    return items[0]


def _element_counts(tensor: torch.Tensor, splits: Sequence[int], size: int,
                    side: str) -> list[int]:
    if not splits:
        if tensor.numel() % size or (tensor.dim() and tensor.shape[0] % size):
            raise InvalidArgument(f"all_to_all: the {side} has shape {list(tensor.shape)}, which "
                                  f"{size} ranks cannot share equally; give splits")
        return [tensor.numel() // size] * size
    if len(splits) != size or sum(splits) != tensor.shape[0]:
        raise InvalidArgument(f"all_to_all: the {side} splits {list(splits)} must be {size} "
                              f"numbers that add up to {tensor.shape[0]} rows")
    row = tensor.numel() // max(1, tensor.shape[0])
    return [rows * row for rows in splits]
