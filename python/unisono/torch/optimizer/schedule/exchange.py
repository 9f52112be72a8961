# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""One step of a DistributedOptimizer with a schedule. It begins as in ../step.py, and then:

4. ``step`` waits for nobody. It submits what backward() left out, keeps the settings of the
   parameter groups as they are now, and leaves each parameter pending (pending.py). With two phases
   it waits for this rank's chunks, and begins to gather them.
5. A parameter is stepped by itself, when its gradient has arrived: at the latest just before the
   module that owns it runs, or before anybody else uses it, and meanwhile whenever another one is
   waited for. So each layer's forward waits for its own gradients only.

The first step ends in step(), as without a schedule: it shows whether the optimizer keeps to what
stepping one parameter at a time rests on.

A fault while steps are pending leaves the model between two steps: the error says so, and what was
pending is dropped. Thread: any may use a parameter; one trains.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from typing import Any, Callable, Iterator, Optional

import torch

from .... import current
from ....errors import Error, Forked, InvalidArgument
from ..step import GradientExchange, OutOfTurn
from ..tracked import TrackedParameter
from . import pending
from .hooks import before_each_module, runs_out_of_sight, step_is_watched
from .order_of_use import OrderOfUse

Groups = list[dict[str, Any]]


class PendingStep:
    """The step of one parameter that has begun."""

    __slots__ = ("parameter", "gradient", "version", "arrival", "group", "apply", "after",
                 "ended")

    def __init__(self, parameter: TrackedParameter, gradient: torch.Tensor, version: int,
                 arrival: Any, group: dict[str, Any], apply: Callable[[], Any]):
        self.parameter, self.gradient, self.version = parameter, gradient, version
        self.arrival = arrival  # waits for the gradient
        self.group = group  # the settings of its group when step() was called
        self.apply = apply  # the wrapped optimizer's step()
        self.after = ""  # what zero_grad() has asked for since: "", "none" or "zero"
        self.ended = False

    def has_arrived(self) -> bool:
        done = getattr(self.arrival, "done", None)
        return done is not None and done()


class DeferredExchange(GradientExchange):
    """Carries the gradients of one optimizer through steps that end where they are needed."""

    def __init__(self, parameters: list[TrackedParameter], frozen: list[TrackedParameter],
                 order: OrderOfUse, *arguments: Any):
        self.order = order
        self.applying = False  # whether the wrapped optimizer is at work for one of them
        self.deferred = False  # whether the last step() has left parameters pending
        self._pending: dict[int, PendingStep] = {}  # by the parameter's id, in order of use
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._first = True
        for parameter in parameters:
            order.register(parameter.tensor)
        super().__init__(parameters, frozen, *arguments)
        self._module_hook = before_each_module(self)
        _living.add(self)

    def __del__(self) -> None:
        super().__del__()
        self._module_hook.remove()

    # 1 to 3 are those of every exchange; this is what comes before them.

    def before_forward(self, module: torch.nn.Module) -> None:
        """The hook: a module is about to run."""
        if self.order.learning:
            for tensor in module._parameters.values():
                if tensor is not None:
                    self.order.used(tensor)
        if not self._pending:
            return
        if runs_out_of_sight(module):
            self.end_all()
            return
        for tensor in module._parameters.values():
            if tensor is not None and pending.is_pending(tensor):
                pending.end(tensor)

    def _begin(self) -> None:
        self.order.learning = False
        self.end_all()  # what the forward pass has not used
        self.deferred = False
        super()._begin()

    def add(self, parameter: TrackedParameter) -> None:
        self.order.register(parameter.tensor)
        super().add(parameter)

    # 4: step.

    def step(self, apply: Callable[..., Any], closure: Optional[Callable[[], Any]], *args: Any,
             **keywords: Any) -> Any:
        if closure is not None:
            raise InvalidArgument("step(closure) needs all gradients at once, and a schedule lets "
                                  "them arrive one by one; leave out schedule")
        if self.deferred and not self._began:
            self.end_all()  # a second step() without a backward(): the first one ends first
            self.deferred = False
        optimizer = getattr(apply, "__self__")
        if (self._first or args or keywords or self.synchronized or not self.should_synchronize
                or step_is_watched(optimizer)):
            # Hooks of one rank alone must not change what synchronize() means there.
            watched = not (self._first or self.synchronized) and self.should_synchronize
            result = self._step_as_a_whole(optimizer, apply, *args, **keywords)
            self.deferred = watched and not self.idle
            return result
        self._defer(optimizer, apply)
        self.end_step()
        return None

    def _step_as_a_whole(self, optimizer: Any, apply: Callable[..., Any], *args: Any,
                         **keywords: Any) -> Any:
        before = _settings(optimizer.param_groups)
        self.applying = True
        try:
            result = super().step(apply, None, *args, **keywords)
        finally:
            self.applying = False
        self._first = False
        if not self.idle:
            _check_unchanged(optimizer, before, _settings(optimizer.param_groups))
        return result

    def _defer(self, optimizer: Any, apply: Callable[..., Any]) -> None:
        if self.superseded is not None or self.idle or not self._began or self.transfer.stale():
            self.settle()  # says what is wrong, or begins
            if self.idle or self.synchronized:
                self._apply_to(optimizer, apply, optimizer.param_groups)
                # On ranks with gradients it is deferred, so synchronize() begins nothing here, too.
                self.deferred = not self.idle
                return
        self._submit_the_rest()
        self._expect_all_passes()
        self._refuse_changed()
        steps = self._take_steps(optimizer, apply)
        self._began, self.deferred = False, True
        try:
            for step in steps:
                gather = getattr(step.arrival, "gather", None)
                if gather is not None:
                    gather()
        except Exception as error:
            self._pending = {id(step.parameter.tensor): step for step in steps}
            self._fail(error)
            raise
        self._leave_pending(optimizer, apply, steps)

    def _take_steps(self, optimizer: Any, apply: Callable[..., Any]) -> list[PendingStep]:
        """The gradients that are under way, in the order in which the forward pass needs them."""
        settings = _settings(optimizer.param_groups)
        group_of = {id(tensor): settings[number]
                    for number, group in enumerate(optimizer.param_groups)
                    for tensor in group["params"]}
        steps = [PendingStep(parameter, gradient, version, arrival,
                             group_of[id(parameter.tensor)], apply)
                 for bucket in self.buffers.current
                 for parameter, gradient, version, arrival in bucket.submitted or ()]
        for bucket in self.buffers.current:
            bucket.abandon()
        return sorted(steps, key=lambda step: self.order.place(step.parameter.tensor))

    def _leave_pending(self, optimizer: Any, apply: Callable[..., Any],
                       steps: list[PendingStep]) -> None:
        moving = {id(step.parameter.tensor) for step in steps}
        others = [{**group, "params": [tensor for tensor in group["params"]
                                       if id(tensor) not in moving and tensor.grad is not None]}
                  for group in optimizer.param_groups]
        with self._lock:
            for step in steps:
                tensor = step.parameter.tensor
                self._pending[id(tensor)] = step
                # What was computed with the old value must not be differentiated with it: torch
                # finds out by this count, as it would had the step been made.
                _increment_version(tensor)
                tensor.grad = None
        for step in steps:
            tensor = step.parameter.tensor
            if step.gradient.is_sparse or not pending.can_be_guarded(tensor):
                self.end(step)
            elif not step.ended:
                pending.guard(tensor, functools.partial(self.end, step))
        if any(group["params"] for group in others):
            self._apply_to(optimizer, apply, others)

    def _refuse_changed(self) -> None:
        changed = next(filter(None, (bucket.changed(False) for bucket in self.buffers.current)),
                       None)
        if changed is not None:
            error = _changed(changed)
            self._give_up(error)
            raise error

    # 5: a parameter is stepped.

    def end(self, step: PendingStep) -> None:
        """Steps the parameter; steps others that have arrived while its gradient has not."""
        if os.getpid() != self._pid:
            raise Forked(f"the step of {step.parameter.name} was pending when this process was "
                         "forked, and ends in its parent only: call optimizer.synchronize() before "
                         "forking, or start processes with spawn.")
        with self._lock:
            while not step.ended and not step.has_arrived():
                other = next((each for each in self._pending.values()
                              if each is not step and each.has_arrived()), None)
                if other is None:
                    break
                self._end(other)
            if not step.ended:
                self._end(step)

    def end_all(self) -> bool:
        """Ends whatever is pending; whether there was anything."""
        with self._lock:
            had_any = bool(self._pending)
            while self._pending:
                self.end(next(iter(self._pending.values())))
            return had_any

    def _end(self, step: PendingStep) -> None:
        # The program may be in any mode: what happens here must not depend on it.
        with torch.inference_mode(False), torch.no_grad(), _without_autocast():
            try:
                if step.gradient._version != step.version:
                    raise _changed(step.parameter.name)
                result = step.arrival()
            except Exception as error:
                self._fail(error)
                raise
            tensor = step.parameter.tensor
            self._forget(step)
            newer = tensor.grad  # a backward() that did not need the parameter's value
            optimizer = getattr(step.apply, "__self__")
            group = {**step.group, "params": [tensor]}
            try:
                step.parameter.set_gradient(result)
                self._apply_to(optimizer, step.apply, [group])
                _check_unchanged(optimizer, [step.group], _settings([group]))
            except Exception as error:
                self._pending[id(tensor)] = step  # it has not been stepped: it is named with others
                self._fail(error)
                raise
            self._tidy_gradient(step, newer)

    def _apply_to(self, optimizer: Any, apply: Callable[..., Any], groups: Groups) -> None:
        """The wrapped optimizer's step() for these groups only."""
        whole, optimizer.param_groups, self.applying = optimizer.param_groups, groups, True
        try:
            apply()
        finally:
            optimizer.param_groups, self.applying = whole, False

    def _tidy_gradient(self, step: PendingStep, newer: Optional[torch.Tensor]) -> None:
        """Leaves .grad as it would be had the step been made in step()."""
        tensor = step.parameter.tensor
        if step.after == "none":
            tensor.grad = newer
            return
        if step.after == "zero" and tensor.grad is not None:
            tensor.grad.zero_()
        if newer is not None and tensor.grad is not None:
            tensor.grad.add_(newer)

    def zero_pending(self, set_to_none: bool) -> set[int]:
        """zero_grad() for what is pending: done when its gradient has been used."""
        with self._lock:
            for step in self._pending.values():
                step.after = "none" if set_to_none or step.after == "none" else "zero"
            return set(self._pending)

    # What happens beside these.

    def synchronize(self) -> None:
        self.end_all()
        super().synchronize()

    def finish_step(self) -> bool:
        """Ends the last step(), if it left anything to be ended and no gradient has come since.
        All ranks get the same answer, whatever their programs have looked at."""
        self.end_all()
        return self.deferred and not self._began

    def flush(self, apply: Callable[..., Any]) -> bool:
        return self.end_all()

    def abandon(self) -> None:
        for step in list(self._pending.values()):
            self._forget(step)
        self.deferred = False
        super().abandon()

    def _forget(self, step: PendingStep) -> None:
        step.ended = True
        self._pending.pop(id(step.parameter.tensor), None)
        pending.release(step.parameter.tensor)

    def _fail(self, error: BaseException) -> None:
        names = [step.parameter.name for step in self._pending.values()]
        self.abandon()
        self._drop_gradients()
        if isinstance(error, (Error, InvalidArgument)):
            error.args = (f"{error} The optimizer's last step was not applied to {len(names)} of "
                          f"{len(self.parameters)} parameters on this rank, {names[0]} first, and "
                          "other ranks may have applied more or less of it: go back to a "
                          "checkpoint on all ranks.",)


# The exchanges whose last step must end before the job does.
_living: "weakref.WeakSet[DeferredExchange]" = weakref.WeakSet()


@current.before_shutdown
def _end_all_steps() -> None:
    for exchange in list(_living):
        with contextlib.suppress(Exception):  # the model keeps what it has; the job is left anyway
            exchange.end_all()


def _settings(groups: Groups) -> Groups:
    """The groups without their parameters, as they are now."""
    return [{key: value.clone() if isinstance(value, torch.Tensor) else value
             for key, value in group.items() if key != "params"} for group in groups]


def _check_unchanged(optimizer: Any, before: Groups, after: Groups) -> None:
    for old, new in zip(before, after):
        for key in old.keys() | new.keys():
            if not _same(old.get(key), new.get(key)):
                raise InvalidArgument(
                    f"{type(optimizer).__name__}.step() changes {key!r} of its parameter groups, "
                    "so it cannot step one parameter at a time; leave out schedule, and go back "
                    "to a checkpoint")


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        return torch.equal(old, new)
    return old is new or bool(old == new)


def _changed(name: str) -> OutOfTurn:
    return OutOfTurn(
        f"the gradient of {name} was changed while it was being exchanged: call "
        "optimizer.synchronize() after backward(), then clip or change gradients, then "
        "optimizer.step() inside `with optimizer.skip_synchronize():`; that step waits for all "
        "gradients.")


def _increment_version(tensor: torch.Tensor) -> None:
    increment = getattr(torch.autograd.graph, "increment_version", None)
    if increment is not None:
        increment(tensor)


@contextlib.contextmanager
def _without_autocast() -> Iterator[None]:
    if not torch.is_autocast_cpu_enabled():
        yield
        return
    with torch.autocast("cpu", enabled=False):
        yield
