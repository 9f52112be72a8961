# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""An optimizer whose ranks take steps on their own and meet every now and then, for slow links.

    inner = torch.optim.AdamW(model.parameters(), lr=1e-3)
    optimizer = outer.OuterOptimizer(inner, model.named_parameters(), steps=30)

step() is the inner optimizer's; after so many of them what has changed on each rank is averaged,
and the update rule moves all ranks on from there. What happens then is in rounds.py.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable, Iterable, Iterator, Optional, SupportsIndex

import torch

from ...errors import InvalidArgument, Mismatch
from ...process_set import ProcessSet, global_process_set
from ..compression import AnyCompression
from ..optimizer.consistency import check_consistent
from ..optimizer.names import checked_names
from . import checkpoint
from .exchange import Allreduce, Exchange, Link
from .fragment import Fragment, OuterParameter
from .fragments import AnyFragments, Schedule, split_fragments
from .rounds import Rounds
from .rules import Nesterov, UpdateRule


class OuterOptimizer(torch.optim.Optimizer):
    """Wraps an optimizer. Collective: every rank of the set makes it, with equal arguments and
    equal parameters, and Mismatch says on all of them what differs.

    - steps: local steps between two outer ones; None: only synchronize() makes outer steps.
    - update: the rule that moves the agreed point by the average change of the ranks.
    - compression: how changes are encoded for the allreduce; or exchange: how they travel at all.
    - fragments: a number, or lists of names; each is exchanged once in ``steps``, in turn.
    - delay: a fragment's average is applied so many steps after its exchange began, which goes on
      meanwhile; mix: the share of its own steps since then that a rank keeps.
    - process_set: a rank outside it stays local.
    """

    def __init__(self, inner: torch.optim.Optimizer,
                 named_parameters: Optional[Iterable[tuple[str, Any]]] = None, *,
                 steps: Optional[int] = 30, update: Optional[UpdateRule] = None,
                 compression: AnyCompression = None, exchange: Optional[Exchange] = None,
                 fragments: AnyFragments = 1, delay: int = 0, mix: float = 0.5,
                 process_set: ProcessSet = global_process_set):
        # The inner optimizer has what torch.optim.Optimizer's own constructor would make.
        if not isinstance(inner, torch.optim.Optimizer) or isinstance(inner, OuterOptimizer):
            raise InvalidArgument(f"inner is a {type(inner).__name__}; give the optimizer that "
                                  "takes the local steps")
        if exchange is not None and compression is not None:
            raise InvalidArgument("give compression or exchange, not both: an exchange has its own "
                                  "encoding")
        if not 0 <= mix < 1:
            raise InvalidArgument(f"mix is {mix!r}; give a number from 0 up to, but not, 1")
        self.inner = inner
        names = checked_names(named_parameters, inner.param_groups)
        rule = Nesterov() if update is None else update
        self._names = [[names[p] for p in group["params"]] for group in inner.param_groups]
        everything = [p for group in inner.param_groups for p in group["params"]]
        self._frozen = {names[p]: p for p in everything if not p.requires_grad}
        tracked = [OuterParameter(names[p], _checked(names[p], p), rule.slots)
                   for p in everything if p.requires_grad]
        cut = split_fragments([each.name for each in tracked],
                              [each.anchor.numel() * each.anchor.element_size()
                               for each in tracked], fragments)
        parts = [Fragment(number, [tracked[place] for place in places])
                 for number, places in enumerate(cut)]
        schedule = Schedule(steps, len(parts), delay)
        self._rounds = Rounds(
            parts, schedule, rule, Allreduce(compression) if exchange is None else exchange,
            Link(process_set), mix, self._forget_broken)
        self._idle = not process_set.included()
        self._paused = 0
        self._local_steps, self._begun = 0, 0.0
        self._gradient_bytes = sum(each.tensor.numel() * each.tensor.element_size()
                                   for each in tracked)
        if not self._idle:
            self._compare()

    def __getattr__(self, name: str) -> Any:
        """Everything else is the inner optimizer's: param_groups, state, defaults, hooks."""
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def step(self, closure: Optional[Callable[[], Any]] = None, *args: Any, **keywords: Any) -> Any:
        """A local step; the outer step too when its turn has come. A closure's loss is this
        rank's own."""
        if not self._begun:
            self._begun = time.perf_counter()
        result = self.inner.step(closure, *args, **keywords)
        self._local_steps += 1
        unfrozen = next((name for name, p in self._frozen.items() if p.requires_grad), None)
        if unfrozen is not None:
            raise InvalidArgument(f"{unfrozen} was frozen when the OuterOptimizer was made, and is "
                                  "trained now; make a new one after freezing and unfreezing")
        if self._paused:
            for fragment in self._rounds.fragments:
                fragment.moved = True
        elif not self._idle:
            self._rounds.advance()
        return result

    def zero_grad(self, *args: Any, **keywords: Any) -> None:
        self.inner.zero_grad(*args, **keywords)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """step() in this context is local and not counted; what it changes is part of the next
        exchange. Every rank takes as many steps outside of such contexts."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def synchronize(self) -> bool:
        """Ends what is under way, and makes an outer step of all parameters now: afterwards they
        are the same on every rank. Collective; ranks may have taken different numbers of steps
        since the last one. False, on every rank, when changes were not finite and nothing of
        some fragment was applied."""
        return self._idle or self._rounds.synchronize()

    def join(self) -> None:
        """For ranks with different numbers of steps: call it when this rank has no more data. It
        returns when every rank has called it; meanwhile this rank takes part in outer steps without
        contributing to them. Parameters are the same on every rank afterwards, and training may go
        on. Not together with synchronize() on ranks that have not called it, unless steps is
        None."""
        if not self._idle:
            self._rounds.join()

    def restart(self) -> None:
        """Begins anew from the parameters as they are, which must be the same on every rank: after
        loading a model. The rule's memory and residuals are zero then. Local."""
        self._rounds.abandon()
        self._rounds.exchange.load_residuals({})
        for fragment in self._rounds.fragments:
            fragment.moved = False
            for each in fragment.parameters:
                each.restart()

    def stats(self) -> dict[str, Any]:
        """Counters of this rank since it was made: ``local_steps``, ``outer_steps`` (fragments
        applied), ``dropped_steps`` (fragments that were not finite), ``sent_bytes`` as encoded,
        ``every_step_bytes`` that gradients of every local step would have been, ``exchange_s``
        spent in exchanges, ``elapsed_s`` since the first step, and ``exchange_share`` of it."""
        rounds = self._rounds
        elapsed = time.perf_counter() - self._begun if self._begun else 0.0
        return {"local_steps": self._local_steps, "outer_steps": rounds.applied,
                "dropped_steps": rounds.dropped,
                "sent_bytes": sum(each.sent_bytes for each in rounds.fragments),
                "every_step_bytes": self._local_steps * self._gradient_bytes,
                "exchange_s": rounds.exchange_s, "elapsed_s": elapsed,
                "exchange_share": rounds.exchange_s / elapsed if elapsed else 0.0}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        raise InvalidArgument("parameters are cut into fragments when the OuterOptimizer is made; "
                              "add the group to the inner optimizer first, then wrap it")

    def state_dict(self) -> dict[str, Any]:
        """The inner optimizer's, and under "outer" what outer steps need to go on bit for bit.
        Every rank saves its own. Waits for exchanges under way, and applies nothing."""
        names = [name for group in self._names for name in group]
        return {**self.inner.state_dict(), checkpoint.KEY: checkpoint.saved(self._rounds, names)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from a saved state; what is under way is dropped. Tensors find their parameters
        by name. Load the model's own state of the same rank beside it."""
        part = checkpoint.outer_part(state_dict)
        inner = {key: value for key, value in state_dict.items() if key != checkpoint.KEY}
        inner = checkpoint.in_order_of(self._names, part["names"], inner)
        self._rounds.abandon()
        checkpoint.load(self._rounds, part)
        self.inner.load_state_dict(inner)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        raise TypeError("an OuterOptimizer belongs to its job; save its state_dict() instead")

    def __repr__(self) -> str:
        rounds = self._rounds
        return (f"OuterOptimizer({type(self.inner).__name__}, steps={rounds.schedule.steps}, "
                f"update={rounds.rule!r}, exchange={rounds.exchange!r}, "
                f"fragments={len(rounds.fragments)}, delay={rounds.schedule.delay})")

    def _forget_broken(self, fragment: Fragment) -> None:
        """Moments that are not finite would break the parameters again."""
        for each in fragment.parameters:
            kept = self.inner.state.get(each.tensor, {})
            if any(torch.is_tensor(value) and not bool(torch.isfinite(value).all())
                   for value in kept.values()):
                self.inner.state.pop(each.tensor)

    def _compare(self) -> None:
        """Arguments that differ would leave ranks waiting for each other."""
        rounds = self._rounds
        process_set, engine = rounds.link.process_set, rounds.link.engine
        mine = f"{self!r}, mix={rounds.mix}"
        told = engine.allgather_object(mine, name="outer.settings", process_set=process_set)
        odd = next((rank for rank, text in enumerate(told) if text != told[0]), None)
        if odd is not None:
            raise Mismatch(f"member {odd} has made {told[odd]}, and member 0 {told[0]}; give every "
                           "rank the same arguments")
        check_consistent([(each.name, each.anchor) for fragment in rounds.fragments
                          for each in fragment.parameters], name="outer.parameters",
                         process_set=process_set)


def _checked(name: str, tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.dtype.is_floating_point or tensor.layout is not torch.strided:
        raise InvalidArgument(f"{name} is {tensor.dtype}, {tensor.layout}; outer steps are for "
                              "dense floating-point parameters")
    return tensor


__all__ = ["OuterOptimizer"]
