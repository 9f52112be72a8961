# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""One step of a DistributedOptimizer, from the first gradient to the update. In order:

1. A hook fires: backward() has added to the gradient of a parameter (``gradient_arrived``). After
   backward_passes_per_step passes the gradient is complete.
2. A bucket is ready: the last of its gradients is complete (``Bucket.gradient_ready``).
3. The bucket is submitted (``Bucket.submit``). The engine combines it with the other ranks' while
   backward() goes on to the next layers.
4. ``synchronize``: what backward() left out is submitted, with zeros where no gradient came. The
   ranks confirm that their buckets hold the same parameters. Then this rank waits, and every
   gradient becomes the combination of all ranks'.
5. ``step``: the wrapped optimizer applies the gradients, and the next step begins.

With lag=1, synchronize() waits for the buckets of the step before instead, and leaves those of this
step travelling: the two sets of buckets take turns (buffer_sets.py).

A fault at any point abandons the step: its gradients are dropped, so none that is half combined can
be applied. Thread: the one that runs backward().
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from typing import Any, Callable, Iterator, Optional

import torch

from ...engine import ReduceOp
from ...errors import Error, InvalidArgument
from . import grad_arena
from .buffer_sets import BufferSets, set_prefixes
from .hooks import on_gradient
from .lag import Lag
from .layout import LayoutCheck, Plan
from .names import Names
from .tracked import TrackedParameter
from .transfer import Transfer

# The exchange that a parameter's gradients go to, by the parameter's id: it keeps the parameter
# alive, so the id is nobody else's.
_owners: "weakref.WeakValueDictionary[int, GradientExchange]" = weakref.WeakValueDictionary()


class OutOfTurn(InvalidArgument, AssertionError):
    """backward(), zero_grad() or step() at a moment when gradients are under way."""


class GradientExchange:
    """Carries the gradients of one optimizer through its steps."""

    def __init__(self, parameters: list[TrackedParameter], frozen: list[TrackedParameter],
                 passes: int, plan: Plan, lag: Lag, make_transfer: Callable[[], Transfer],
                 prefixes: Names):
        self.parameters, self.frozen, self.passes = parameters, frozen, passes
        self.plan, self.lag = plan, lag
        self._prefixes = set_prefixes(prefixes, 2 if lag.possible else 1)
        self._make_transfer = make_transfer
        self.synchronized = False  # whether this step's gradients have been exchanged already
        self.synchronized_by_hand = False  # whether the program has called synchronize() for it
        self.should_synchronize = True  # False inside skip_synchronize()
        self.superseded: Optional[str] = None  # a parameter that a later optimizer trains, too
        # What codecs are to go on from, until a step has begun with it: a job may form anew first.
        self._codecs: Optional[bytes] = None
        self._codecs_due = False  # whether the engine has yet to get it
        self._hooks: list[Any] = []
        for parameter in parameters:
            self._hook(parameter)
        self._bind()

    def _hook(self, parameter: TrackedParameter) -> None:
        earlier = _owners.get(id(parameter.tensor))
        if earlier is not None and earlier.superseded is None:
            earlier.superseded = parameter.name
        _owners[id(parameter.tensor)] = self
        # By number: a hook that held the parameter would keep it alive.
        number = len(self._hooks)
        self._hooks.append(on_gradient(
            parameter.tensor, self, lambda self: self.gradient_arrived(self.parameters[number])))

    def __del__(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def _bind(self) -> None:
        """Lays out the buckets for the current engine; a job that re-forms makes a new one."""
        self.transfer = self._make_transfer()
        self._codecs_due = self._codecs is not None
        self.idle = self.transfer.local and not self.lag.possible
        self.arena = grad_arena.arena_use(self.transfer, self.parameters, self.plan.arena)
        self.buffers = BufferSets(self.parameters, self.plan, self.transfer, self.arena.used,
                                  self._prefixes)
        if self.arena and not self.buffers.in_arena():
            self.arena = grad_arena.ArenaUse(False, "the arena had no room: set arena_bytes")
        self._expect_all_passes()
        self._layout = LayoutCheck(self.buffers.sets[0], self.transfer, self._prefixes[0].own)
        self._began = False  # whether a gradient of this step has arrived

    # 1 to 3: the hook fires, a bucket becomes ready, it is submitted.

    def gradient_arrived(self, parameter: TrackedParameter) -> None:
        """The hook: one more backward pass has added to this gradient."""
        if self.superseded is not None:
            return
        if self.idle or not self._began or self.transfer.stale():
            self._begin()
            if self.idle:
                return
        if parameter.passes_left == 0:
            raise OutOfTurn(
                f"Gradients were computed more than backward_passes_per_step times "
                f"({self.passes}) before call to step(), that of {parameter.name} first. Increase "
                "backward_passes_per_step to accumulate gradients locally.")
        parameter.passes_left -= 1
        if parameter.passes_left == 0:
            self.buffers.bucket_for(parameter).gradient_ready(parameter)

    def _begin(self) -> None:
        if self.transfer.stale():
            self._bind()
        if self.idle:
            return
        if self._codecs_due:
            self._give_codecs()
        self._codecs = None  # what they keep changes from here on
        self._began, self.synchronized = True, False
        self._layout.begin()

    # 4: synchronize.

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
        self._submit_the_rest()
        self._expect_all_passes()
        if not self.lag.now:
            self._finish(lagged=False)
        else:
            self.buffers.swap()
            if self.buffers.in_flight():
                self._finish(lagged=True)
            else:
                self._drop_gradients()  # the first step with lag applies nothing
        self._began, self.synchronized = False, True

    def _submit_the_rest(self) -> None:
        self._adopt_unfrozen()
        try:
            for parameter in self.parameters:
                if parameter.passes_left:
                    # Not every pass came, and the gradients of those that did may be sparse.
                    self.buffers.bucket_for(parameter)
            for bucket in self.buffers.current:
                if bucket.submitted is None:
                    bucket.submit()
            self._layout.confirm()
        except BaseException as error:
            self._give_up(error)
            raise

    def _finish(self, lagged: bool) -> None:
        buckets = self.buffers.current
        changed = next(filter(None, (bucket.changed(lagged) for bucket in buckets)), None)
        try:
            for bucket in buckets:
                bucket.finish()
            if changed is not None:
                raise OutOfTurn(
                    f"the gradient of {changed} was changed while it was being exchanged, after "
                    "backward() and before synchronize(): call optimizer.synchronize(), then clip "
                    "or change gradients, then optimizer.step() inside `with "
                    "optimizer.skip_synchronize():`.")
        except BaseException as error:
            self._give_up(error)
            raise

    # 5: step.

    def step(self, apply: Callable[..., Any], closure: Optional[Callable[[], Any]], *args: Any,
             **keywords: Any) -> Any:
        """Exchanges what was not exchanged yet, and applies it. apply: the wrapped optimizer's
        step(), which gets the arguments."""
        self._warn_of_a_second_exchange()
        if closure is not None:
            result = apply(self._together(closure), *args, **keywords)
        else:
            self.settle()
            result = apply(*args, **keywords)
        self.end_step()
        if self.lag.ends_here:
            self.flush(apply)
        self.lag.step += 1
        return result

    def settle(self) -> None:
        """Exchanges what this step has not exchanged yet."""
        if self.should_synchronize:
            if not self.synchronized:
                self.synchronize()
        elif self.busy():
            raise OutOfTurn("optimizer.step() was called inside skip_synchronize() while gradients "
                            "are being exchanged: call optimizer.synchronize() first.")

    def end_step(self) -> None:
        """The gradients have been used; those that come next are another step's."""
        self.synchronized = self.synchronized_by_hand = False

    def flush(self, apply: Callable[..., Any]) -> bool:
        """Applies the gradients that lag has kept back; False when there are none."""
        self.buffers.swap()
        if self.lag.possible and not self._began and self.buffers.in_flight():
            self._finish(lagged=True)
            apply()
            return True
        self.buffers.swap()
        return False

    def _together(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        """The closure, with gradients and loss combined over the ranks each time it is called."""
        if self.lag.possible:
            raise InvalidArgument("step(closure) needs the gradients that the closure computes, "
                                  "and lag=1 applies them a step later; use lag=0")
        if self.busy():
            self.settle()

        def evaluate() -> Any:
            loss = closure()
            self.settle()
            self.synchronized = False
            return self._combined_loss(loss)

        return evaluate

    def _combined_loss(self, loss: Any) -> Any:
        """What a closure returned, over all ranks: a mean, or a sum where gradients are summed."""
        if self.transfer.local or not isinstance(loss, (torch.Tensor, float, int)):
            return loss
        op = ReduceOp.Sum if self.transfer.op == ReduceOp.Sum else ReduceOp.Average
        tensor = torch.as_tensor(loss, dtype=None if torch.is_tensor(loss) else torch.float64)
        result = self.transfer.engine.allreduce(
            tensor.detach(), name=f"{self._prefixes[0].own}closure.loss", op=op,
            process_set=self.transfer.process_set, codec="none")
        return result if torch.is_tensor(loss) else result.item()

    def _warn_of_a_second_exchange(self) -> None:
        if (self.synchronized_by_hand and self.should_synchronize
                and (self.synchronized or self.idle)):
            warnings.warn(
                "optimizer.step() follows optimizer.synchronize() outside of skip_synchronize(): "
                "Horovod would exchange the gradients a second time. Here they are applied as they "
                "are; write `with optimizer.skip_synchronize(): optimizer.step()` to say so.",
                stacklevel=4)

    # What happens beside the five.

    def busy(self) -> bool:
        """Whether gradients of this step have arrived that were not synchronized."""
        return self._began and not self.transfer.stale()

    def set_passes(self, passes: int) -> None:
        self.passes = passes
        self._expect_all_passes()

    def add(self, parameter: TrackedParameter) -> None:
        """A parameter that was added or unfrozen later travels by itself."""
        self.parameters.append(parameter)
        self._hook(parameter)
        self.buffers.add(parameter)

    def _adopt_unfrozen(self) -> None:
        for parameter in [each for each in self.frozen if each.tensor.requires_grad]:
            self.frozen.remove(parameter)
            self.add(parameter)

    def _expect_all_passes(self) -> None:
        for parameter in self.parameters:
            parameter.passes_left = self.passes

    def _give_up(self, error: BaseException) -> None:
        """Some gradients are averages now, some are not, and those in the arena may be neither."""
        self.abandon()
        self._drop_gradients()
        if isinstance(error, (Error, InvalidArgument)):
            error.args = (f"{error} The gradients of this step are not valid on this rank and "
                          "have been set to None.",)

    def codec_state(self) -> Optional[torch.Tensor]:
        """What codecs keep of this optimizer's gradients on this rank; None when that is
        nothing."""
        transfer, kept = self.transfer, self._codecs
        if not self._codecs_keep():
            return None
        if not self._codecs_due and not transfer.stale():
            kept = transfer.engine.codec_state(self._kept_names(), transfer.process_set)
        return None if kept is None else torch.frombuffer(bytearray(kept), dtype=torch.uint8)

    def _codecs_keep(self) -> bool:
        return not self.transfer.local and (self.transfer.compresses or self.transfer.job.packs)

    def _kept_names(self) -> list[str]:
        return [prefixes.parameter + each.name for prefixes in self._prefixes
                for each in (*self.parameters, *self.frozen)]

    @contextlib.contextmanager
    def codecs_from(self, state: torch.Tensor) -> Iterator[None]:
        """Codecs go on from there, unless the block fails. Raises before the block, and changes
        nothing, while an allreduce with a codec is on its way; wait for those that were begun."""
        earlier, before = (self._codecs, self._codecs_due), b""
        now = not self.transfer.local and not self.transfer.stale()
        if now:
            before = self.transfer.engine.codec_state(self._kept_names(),
                                                      self.transfer.process_set)
        self._codecs, self._codecs_due = state.cpu().numpy().tobytes(), not now
        try:
            if now:
                self._give_codecs()
            yield
        except BaseException:
            self._codecs, self._codecs_due = earlier
            if now:
                self._load_codecs(before)
            raise

    def restore_codecs(self, state: torch.Tensor) -> None:
        """Codecs go on from there when the next step begins: the engine may have failed with
        operations on their way, and then it is the next one that gets it."""
        self._codecs, self._codecs_due = state.cpu().numpy().tobytes(), True

    def shared_codecs(self) -> Optional[bytes]:
        """What codecs keep that all ranks must have alike: how far a warm-up is, and factors."""
        if not self._codecs_keep():
            return None
        self._settle_codecs()
        return self.transfer.engine._shared_codecs(self._kept_names(), self.transfer.process_set)

    def share_codecs(self, state: bytes) -> None:
        """Goes on with another rank's shared_codecs(); what this rank has not sent stays."""
        self._settle_codecs()
        if not self.transfer.local:
            self.transfer.engine._share_codecs(state, self._kept_names(),
                                               self.transfer.process_set)

    def _settle_codecs(self) -> None:
        if self.transfer.stale():
            self._bind()
        if self._codecs_due and not self.transfer.local:
            self._give_codecs()

    def _give_codecs(self) -> None:
        assert self._codecs is not None
        self._load_codecs(self._codecs)
        self._codecs_due = False

    def _load_codecs(self, state: bytes) -> None:
        self.transfer.engine.load_codec_state(state, self._kept_names(), self.transfer.process_set)

    def abandon(self) -> None:
        """Forgets what is under way: its results are dropped."""
        self.buffers.abandon()
        self._expect_all_passes()
        self._began = self.synchronized = False

    def _drop_gradients(self) -> None:
        for parameter in self.parameters:
            parameter.tensor.grad = None
