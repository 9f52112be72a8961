# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""An optimizer that combines gradients over all ranks before it applies them.

    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

This file makes such an optimizer, copies it and pickles it. What it does in a step is in step.py.
"""

from __future__ import annotations

import contextlib
from typing import (TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Sequence,
                    SupportsIndex, Union)

import torch

from ...engine import ReduceOp
from ...errors import InvalidArgument
from ...process_set import ProcessSet, global_process_set, identity_of
from ..compression import CODEC_STATE, Compression
from . import grad_arena
from .arguments import (checked_factor, checked_passes, checked_team, chosen_groups, packed_set,
                        unpacked_set)
from .hooks import teach_grad_scalers
from .lag import Lag
from .layout import Plan
from .names import checked_names, distinct_names
from .schedule import (PARTITION_BYTES, DeferredExchange, OrderOfUse, ScheduledMixin,
                       checked_schedule, make_transfer)
from .step import GradientExchange, OutOfTurn
from .tracked import TrackedParameter
from .transfer import Transfer, engine_of


if TYPE_CHECKING:
    # The optimizer's own class follows in the made one: any, and therefore Any for what it adds.
    class _Wrapped(Any, torch.optim.Optimizer):
        pass
else:
    _Wrapped = object


class DistributedMixin(_Wrapped):
    """What DistributedOptimizer() puts before the user's optimizer class."""

    _exchange: GradientExchange
    _arguments: dict[str, Any]
    _parameter_names: dict[Any, str]

    @property
    def op(self) -> ReduceOp:
        """The operator that combines gradients."""
        return self._arguments["op"]

    @property
    def process_set(self) -> ProcessSet:
        """The ranks that exchange gradients."""
        return self._arguments["process_set"]

    @property
    def gradient_predivide_factor(self) -> float:
        """What an average divides by before the sum."""
        return self._arguments["gradient_predivide_factor"]

    @property
    def sparse_as_dense(self) -> bool:
        """Whether sparse gradients travel as dense ones."""
        return self._arguments["sparse_as_dense"]

    def synchronize(self) -> None:
        """Waits until every gradient is the combination of all ranks'. Then gradients may be
        clipped or changed, and step() called inside ``with optimizer.skip_synchronize():``."""
        self._exchange.synchronize()
        self._exchange.synchronized_by_hand = True

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """step() in this context applies the gradients as they are."""
        self._exchange.should_synchronize = False
        try:
            yield
        finally:
            self._exchange.should_synchronize = True

    def step(self, closure: Optional[Callable[[], Any]] = None, *args: Any, **keywords: Any) -> Any:
        """Exchanges this step's gradients unless synchronize() has, and applies them. The loss
        that a closure returns is combined over the ranks too, so that all take the same path."""
        return self._exchange.step(super().step, closure, *args, **keywords)

    # torch.optim wraps the step of classes that do not say so, and would run step hooks twice.
    step.hooked = True  # type: ignore[attr-defined]

    def flush(self) -> bool:
        """With lag=1, applies the gradients that the last step kept back. Call it before saving
        the model when there is no cool-down. Returns whether there were any."""
        return self._exchange.flush(super().step)

    def zero_grad(self, *args: Any, **keywords: Any) -> None:
        """Like the wrapped optimizer's. Gradients under way must not be touched."""
        if self._exchange.busy():
            raise OutOfTurn(
                "optimizer.zero_grad() was called after loss.backward() but before "
                "optimizer.step() or optimizer.synchronize(). This is prohibited as it can cause "
                "a race condition: call one of them first.")
        self._exchange.end_step()
        super().zero_grad(*args, **keywords)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        for parameter in self.param_groups[-1]["params"]:
            name = self._parameter_names.setdefault(parameter,
                                                    f"parameter.{len(self._parameter_names)}")
            tracked = TrackedParameter(parameter, name, self._exchange.passes)
            if parameter.requires_grad:
                self._exchange.add(tracked)
            else:
                self._exchange.frozen.append(tracked)

    def state_dict(self) -> dict[str, Any]:
        """Like the wrapped optimizer's, and with a codec that keeps something, given here or in the
        job's options, what this rank's codecs have not sent yet of its gradients, under
        "unisono_codec_state": every rank saves its own."""
        state = super().state_dict()
        kept = self._exchange.codec_state()
        if kept is not None:
            state[CODEC_STATE] = kept
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Like the wrapped optimizer's; what is under way is dropped. Codecs go on from what
        they had kept; a state without it leaves them as they are. Raises, and changes nothing,
        while an allreduce with a codec is on its way; wait for those that were begun."""
        self._exchange.abandon()
        kept = state_dict.get(CODEC_STATE)
        if kept is None:
            super().load_state_dict(state_dict)
            return
        with self._exchange.codecs_from(kept):
            super().load_state_dict({key: value for key, value in state_dict.items()
                                     if key != CODEC_STATE})

    def set_backward_passes_per_step(self, passes: int) -> None:
        self.backward_passes_per_step = checked_passes(passes)
        self._exchange.set_passes(passes)

    @property
    def gradients_in_arena(self) -> grad_arena.ArenaUse:
        """Whether gradients are views into memory that the host's ranks share; str() says why."""
        return self._exchange.arena

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        plain = {key: value for key, value in self.__dict__.items() if key not in _OWN}
        plain.pop("step", None)  # a scheduler's wrapper, which holds the optimizer itself
        names = [self._parameter_names[p] for group in self.param_groups for p in group["params"]]
        arguments = {**self._arguments, "backward_passes_per_step": self.backward_passes_per_step,
                     "process_set": packed_set(self._arguments["process_set"])}
        return _rebuild, (type(self).__bases__[-1], plain, names, arguments)

    def _before_unscale(self) -> None:
        if self._exchange.lag.possible:
            raise InvalidArgument("GradScaler may change its scale between steps, and with lag=1 "
                                  "gradients of two steps meet; use lag=0")
        self._exchange.settle()


_OWN = ("_exchange", "_arguments", "_parameter_names", "backward_passes_per_step")


def DistributedOptimizer(optimizer: torch.optim.Optimizer,
                         named_parameters: Optional[Iterable[tuple[str, Any]]] = None,
                         compression: Any = Compression.none, backward_passes_per_step: int = 1,
                         op: ReduceOp = ReduceOp.Average, gradient_predivide_factor: float = 1.0,
                         num_groups: int = 0, groups: Union[int, Sequence[Any], None] = None,
                         sparse_as_dense: bool = False,
                         process_set: ProcessSet = global_process_set, *,
                         group_balance: str = "count", gradients_in_arena: Optional[bool] = None,
                         bucket_bytes: int = grad_arena.BUCKET_BYTES, lag: int = 0,
                         cool_down_steps: int = 0,
                         total_steps: Optional[int] = None, schedule: Optional[str] = None,
                         partition_bytes: int = PARTITION_BYTES,
                         team: int = 0) -> DistributedMixin:
    """The optimizer, of a subclass of its class, that exchanges gradients while backward() runs
    and applies their combination in step().

    - backward_passes_per_step: gradients of so many backward() calls are summed, then exchanged.
    - compression: a codec such as "bf16" or "ef|topk:512:4|qsgd:4", rules by the names of
      parameters, such as {"*.bias": "none", "conv*": "ef|topk:512:8"}, a class of Compression, or a
      compressor of your own.
    - op: Average, Sum or Adasum, applied to gradients (the wrapped optimizer then steps).
    - gradient_predivide_factor: an average divides by it before the sum and by the rest after.
    - num_groups, or groups as a number or as lists of parameters: gradients that travel together;
      group_balance "bytes" makes num_groups weigh the same. Otherwise the engine fuses as it sees
      fit. sparse_as_dense: sparse gradients travel as dense ones, and are sparse again afterwards.
    - process_set: a rank outside it stays local.
    - gradients_in_arena: None puts gradients into shared memory where that is safe, in buckets of
      about bucket_bytes, False never does; ``optimizer.gradients_in_arena`` tells. ``.grad`` is a
      view then, which the next step writes again: clone() what you keep.
    - lag=1: step k applies the gradients of step k-1; the last cool_down_steps of total_steps
      apply their own.
    - schedule: step() waits for nobody, and each parameter is stepped when its gradient has come,
      at the latest before it is used. "priority": gradients travel in parts of partition_bytes,
      those that the forward pass needs first before others (join with planner="priority").
      "two-phase": they are reduced in backward(), and gathered in the next forward pass.
    - team: which of the job's teams moves the dense gradients, from 1 to the option ``teams``; two
      optimizers with different teams do not wait for each other's. 0: any. Not with "two-phase".
    """
    if isinstance(optimizer, DistributedMixin):
        raise InvalidArgument("the optimizer is a DistributedOptimizer already; wrap it once")
    names = checked_names(named_parameters, optimizer.param_groups)
    everything = [p for group in optimizer.param_groups for p in group["params"]]
    arguments = dict(
        compression=compression, backward_passes_per_step=checked_passes(backward_passes_per_step),
        op=op, gradient_predivide_factor=checked_factor(gradient_predivide_factor, op),
        groups=chosen_groups(everything, num_groups, groups, group_balance),
        sparse_as_dense=sparse_as_dense, process_set=process_set,
        gradients_in_arena=gradients_in_arena, bucket_bytes=bucket_bytes, lag=lag,
        cool_down_steps=cool_down_steps, total_steps=total_steps, partition_bytes=partition_bytes,
        team=checked_team(team, schedule))
    arguments["schedule"] = checked_schedule(schedule, partition_bytes, type(optimizer), arguments)
    teach_grad_scalers()
    # A scheduler made before puts a bound step() into the optimizer; it belongs to that object.
    plain = {key: value for key, value in optimizer.__dict__.items() if key != "step"}
    return _assemble(type(optimizer), plain, names, arguments)


def _assemble(base: type, plain: dict[str, Any], names: dict[Any, str],
              arguments: dict[str, Any]) -> Any:
    schedule = arguments.get("schedule")
    mixins = (ScheduledMixin, DistributedMixin) if schedule else (DistributedMixin,)
    made_class: Any = type(base.__name__, (*mixins, base),
                           {"__module__": base.__module__, "__doc__": base.__doc__})
    made = made_class.__new__(made_class)
    made.__dict__.update(plain)
    made._arguments, made._parameter_names = arguments, names
    made.backward_passes_per_step = passes = arguments["backward_passes_per_step"]
    everything = [TrackedParameter(p, names[p], passes)
                  for group in made.param_groups for p in group["params"]]
    trained = [each for each in everything if each.tensor.requires_grad]
    frozen = [each for each in everything if not each.tensor.requires_grad]
    process_set, lag = arguments["process_set"], Lag(
        arguments["lag"], arguments["cool_down_steps"], arguments["total_steps"])
    plan = Plan(arguments["groups"] and _trained(arguments["groups"], everything),
                False if schedule else arguments["gradients_in_arena"], arguments["bucket_bytes"])
    prefixes = distinct_names(engine_of(process_set), identity_of(process_set),
                              (each.name for each in everything))
    order = OrderOfUse()
    tensors = {prefixes.parameter + each.name: each.tensor for each in everything}

    def transfer() -> Transfer:
        local = not process_set.included() or process_set.size() == 1
        how = (engine_of(process_set), process_set, arguments["op"],
               arguments["gradient_predivide_factor"], arguments["compression"],
               arguments["sparse_as_dense"], local, arguments.get("team", 0))
        if not schedule:
            return Transfer(*how)
        return make_transfer(schedule, lambda name: order.priority(tensors[name])
                             if name in tensors else 0, arguments["partition_bytes"], *how)

    common = (passes, plan, lag, transfer, prefixes)
    made._exchange = (DeferredExchange(trained, frozen, order, *common) if schedule else
                      GradientExchange(trained, frozen, *common))
    return made


def _trained(groups: list[list[int]],
             everything: list[TrackedParameter]) -> list[list[TrackedParameter]]:
    """The groups without the parameters that are frozen."""
    kept = [[everything[place] for place in group if everything[place].tensor.requires_grad]
            for group in groups]
    return [group for group in kept if group]


def _rebuild(base: type, plain: dict[str, Any], names: list[str],
             arguments: dict[str, Any]) -> Any:
    """A copy or an unpickled optimizer: distributed again, among the ranks that do the same."""
    parameters = [p for group in plain["param_groups"] for p in group["params"]]
    arguments = {**arguments, "process_set": unpacked_set(*arguments["process_set"])}
    return _assemble(base, plain, dict(zip(parameters, names)), arguments)
