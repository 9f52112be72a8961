# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""From "this gradient is complete" to "these are the job's averages": what the hooks feed and
synchronize() waits for.

A step's gradients travel on a lane, a set of units with names of their own. There is one lane, or
two that take turns when gradients are applied one step late. Thread: the one that runs backward().
"""

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional

import numpy as np
import torch

from ...engine import ReduceOp
from ...errors import Error, InvalidArgument, Mismatch
from ...handle import Handle
from . import grad_arena
from .hooks import on_gradient
from .lag import Lag
from .layout import Plan, layout, layout_difference, layout_hash, numbered
from .names import Names
from .units import Slot, Transfer, Unit

# The exchange that a parameter's gradients go to, by the parameter's id: it keeps the parameter
# alive, so the id is not given to another one.
_owners: "weakref.WeakValueDictionary[int, Exchange]" = weakref.WeakValueDictionary()


class OutOfTurn(InvalidArgument, AssertionError):
    """backward(), zero_grad() or step() at a moment when gradients are under way."""


class Exchange:
    def __init__(self, slots: list[Slot], frozen: list[Slot], passes: int, plan: Plan, lag: Lag,
                 make_transfer: Callable[[], Transfer], prefixes: Names):
        self.slots, self.frozen, self.passes, self.plan, self.lag = slots, frozen, passes, plan, lag
        lanes = ("lane.0.", "lane.1.") if lag.possible else ("",)
        self._prefixes = [Names(prefixes.own + lane, prefixes.parameter + lane) for lane in lanes]
        self._make_transfer = make_transfer
        self.synchronized = False  # whether this step's gradients have been exchanged already
        self.superseded: Optional[str] = None
        self._hooks: list[Any] = []
        for slot in slots:
            self._hook(slot)
        self._bind()

    def _hook(self, slot: Slot) -> None:
        earlier = _owners.get(id(slot.parameter))
        if earlier is not None and earlier.superseded is None:
            earlier.superseded = slot.name
        _owners[id(slot.parameter)] = self
        # By number: a hook that held the slot would keep its own parameter alive.
        number = len(self._hooks)
        self._hooks.append(on_gradient(slot.parameter, self,
                                       lambda self: self.arrived(self.slots[number])))

    def __del__(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def _bind(self) -> None:
        """Lays out the units for the engine of the day; a job that re-forms makes a new one."""
        self.transfer = self._make_transfer()
        self.idle = self.transfer.local and not self.lag.possible
        self.arena = grad_arena.arena_use(self.transfer, self.slots, self.plan.arena)
        self.lanes = [self.plan.units(self.slots, self.transfer, self.arena.used, prefixes)
                      for prefixes in self._prefixes]
        if self.arena and not any(unit.in_arena for lane in self.lanes for unit in lane):
            self.arena = grad_arena.ArenaUse(False, "the arena had no room: set arena_bytes")
        self.turn = 0
        for number, unit in enumerate(self.lanes[0]):
            for place, slot in enumerate(unit.slots):
                slot.unit, slot.place, slot.left = number, place, self.passes
        self._began = False
        self._layout_handle: Optional[Handle] = None
        # A unit of one parameter bears its name, which the engine compares; others are numbered.
        self._layout_checked = self.transfer.local or not any(map(numbered, self.lanes[0]))

    @property
    def lane(self) -> list[Unit]:
        return self.lanes[self.turn]

    def busy(self) -> bool:
        """Whether gradients of this step have arrived that were not synchronized."""
        return self._began and not self.transfer.stale()

    def arrived(self, slot: Slot) -> None:
        """The hook: one more backward pass has added to this gradient."""
        if self.superseded is not None:
            return
        if self.idle or not self._began or self.transfer.stale():
            self._begin()
            if self.idle:
                return
        if slot.left == 0:
            raise OutOfTurn(
                f"Gradients were computed more than backward_passes_per_step times "
                f"({self.passes}) before call to step(), that of {slot.name} first. Increase "
                "backward_passes_per_step to accumulate gradients locally.")
        slot.left -= 1
        if slot.left == 0:
            self._unit_for(slot).arrive(slot)

    def _unit_for(self, slot: Slot) -> Unit:
        """The unit that the gradient travels with. A bucket takes a sparse one only if it may be
        made dense."""
        unit, gradient = self.lane[slot.unit], slot.parameter.grad
        if gradient is None or not isinstance(unit, grad_arena.Bucket):
            return unit
        slot.sparse = gradient.sparse_dim() if gradient.is_sparse else 0
        if slot.sparse and not self.transfer.sparse_as_dense:
            return self._move_out(slot)
        if slot.sparse:
            slot.parameter.grad = gradient.to_dense()
        return unit

    def _begin(self) -> None:
        if self.transfer.stale():
            self._bind()
        if self.idle:
            return
        self._began, self.synchronized = True, False
        if not self._layout_checked and self._layout_handle is None:
            # The largest of h and of its complement tell whether all are equal, and a rank that
            # has joined already need not take part.
            mine = np.array([layout_hash(self.lanes[0])])
            self._layout_handle = self.transfer.engine.allreduce_async(
                np.concatenate([mine, ~mine]), name=f"{self._prefixes[0].own}layout",
                op=ReduceOp.Max, process_set=self.transfer.process_set)

    def synchronize(self) -> None:
        """Waits until every parameter's gradient is the combination of all ranks'. With lag, that
        of the step before."""
        if self.superseded is not None:
            raise OutOfTurn(f"a DistributedOptimizer made later trains {self.superseded} too, and "
                            "its gradients go to that one; use only one of them")
        if not self._began or self.transfer.stale():
            self._begin()
        if self.idle:
            return
        self._adopt_unfrozen()
        try:
            for slot in self.slots:
                if slot.left:
                    self._unit_for(slot)  # not every pass came, and those that did may be sparse
            for unit in self.lane:
                if unit.sent is None:
                    unit.send()
            self._check_layout()
        except BaseException as error:
            self._give_up(error)
            raise
        for slot in self.slots:
            slot.left = self.passes
        if not self.lag.now:
            self._finish(self.lane, lagged=False)
        else:
            self.turn = 1 - self.turn
            if self.outstanding():
                self._finish(self.lane, lagged=True)
            else:
                self._drop_gradients()
        self._began, self.synchronized = False, True

    def outstanding(self) -> bool:
        """Whether this turn's lane still carries gradients of the step before."""
        return self._in_flight(self.lane)

    @staticmethod
    def _in_flight(lane: list[Unit]) -> bool:
        return all(unit.sent is not None for unit in lane)

    def take_outstanding(self) -> bool:
        """Gives the parameters the averages that lag has kept back; False when there are none."""
        self.turn = 1 - self.turn
        if self.lag.possible and not self._began and self.outstanding():
            self._finish(self.lane, lagged=True)
            return True
        self.turn = 1 - self.turn
        return False

    def _finish(self, lane: list[Unit], lagged: bool) -> None:
        changed = next(filter(None, (unit.changed(lagged) for unit in lane)), None)
        try:
            for unit in lane:
                unit.finish()
            if changed is not None:
                raise OutOfTurn(
                    f"the gradient of {changed} was changed while it was being exchanged, after "
                    "backward() and before synchronize(): call optimizer.synchronize(), then clip "
                    "or change gradients, then optimizer.step() inside `with "
                    "optimizer.skip_synchronize():`.")
        except BaseException as error:
            self._give_up(error)
            raise

    def _give_up(self, error: BaseException) -> None:
        """Some gradients are averages now, some are not, and those in the arena may be neither."""
        self.abandon()
        self._drop_gradients()
        if isinstance(error, (Error, InvalidArgument)):
            error.args = (f"{error} The gradients of this step are not valid on this rank and "
                          "have been set to None.",)

    def abandon(self) -> None:
        """Forgets what is under way: its results are dropped."""
        for lane in self.lanes:
            for unit in lane:
                unit.abandon()
        for slot in self.slots:
            slot.left = self.passes
        self._began = self.synchronized = False

    def _drop_gradients(self) -> None:
        for slot in self.slots:
            slot.parameter.grad = None

    def combined_loss(self, loss: Any) -> Any:
        """What a closure returned, over all ranks: a mean, or a sum where gradients are summed."""
        if self.transfer.local or not isinstance(loss, (torch.Tensor, float, int)):
            return loss
        op = ReduceOp.Sum if self.transfer.op == ReduceOp.Sum else ReduceOp.Average
        tensor = torch.as_tensor(loss, dtype=None if torch.is_tensor(loss) else torch.float64)
        result = self.transfer.engine.allreduce(
            tensor.detach(), name=f"{self._prefixes[0].own}closure.loss", op=op,
            process_set=self.transfer.process_set)
        return result if torch.is_tensor(loss) else result.item()

    def add(self, slot: Slot) -> None:
        """A parameter that was given or unfrozen later travels by itself."""
        self.slots.append(slot)
        self._hook(slot)
        self._add_unit(slot)

    def _add_unit(self, slot: Slot) -> Unit:
        for lane, prefixes in zip(self.lanes, self._prefixes):
            unit = Unit(prefixes.parameter + slot.name, [slot], self.transfer, grouped=False)
            if lane is not self.lane and self._in_flight(lane):
                unit.sent = []  # the step that this lane carries had no such parameter
            lane.append(unit)
        slot.unit, slot.place = len(self.lanes[0]) - 1, 0
        return self.lane[-1]

    def _adopt_unfrozen(self) -> None:
        awake = [slot for slot in self.frozen if slot.parameter.requires_grad]
        for slot in awake:
            self.frozen.remove(slot)
            self.add(slot)

    def _move_out(self, slot: Slot) -> Unit:
        """Its gradients turned out to be sparse: no bucket can hold them."""
        for lane in self.lanes:
            bucket = lane[slot.unit]
            assert isinstance(bucket, grad_arena.Bucket), "lanes are laid out alike"
            bucket.drop(slot)
        return self._add_unit(slot)

    def _check_layout(self) -> None:
        """Groups and buckets add up only if every rank holds the same parameters in the same
        order, and an operation on a bucket does not see them."""
        if self._layout_handle is None:
            return
        largest, smallest = self._layout_handle.wait() ^ np.array([0, -1])
        self._layout_handle, self._layout_checked = None, bool(largest == smallest)
        if self._layout_checked:
            return
        layouts = self.transfer.engine.allgather_object(
            layout(self.lanes[0]), name=f"{self._prefixes[0].own}layouts",
            process_set=self.transfer.process_set)
        raise Mismatch(layout_difference(layouts))
