# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What goes together with a schedule, and which optimizers can step one parameter at a time."""

from __future__ import annotations

import inspect
from typing import Any, Optional

import torch

from ....engine import ReduceOp
from ....errors import InvalidArgument
from ...compression import codec_for, rules_of

SCHEDULES = ("priority", "two-phase")
PARTITION_BYTES = 4 << 20
# Their step() treats every parameter by itself, with nothing but its own state and its group's
# settings. LBFGS, which looks at all of them together, is not among them.
_ALONE = ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adagrad", "Adadelta", "Adamax", "RMSprop",
          "Rprop", "ASGD", "SparseAdam", "Adafactor", "Muon")


def checked_schedule(schedule: Optional[str], partition_bytes: int, optimizer: type,
                     arguments: dict[str, Any]) -> Optional[str]:
    """The schedule, if everything else that was asked for goes together with it."""
    if schedule is None:
        return None
    if schedule not in SCHEDULES:
        raise InvalidArgument(f"schedule is {schedule!r}; give None, "
                              f"{' or '.join(map(repr, SCHEDULES))}")
    if (isinstance(partition_bytes, bool) or not isinstance(partition_bytes, int)
            or partition_bytes < 1):
        raise InvalidArgument(f"partition_bytes is {partition_bytes!r}; give a whole number of "
                              "bytes, 1 or more")
    for wrong, name, why in (
            (arguments["lag"] != 0, "lag=1", "applies gradients a whole step later"),
            (arguments["groups"] is not None, "num_groups or groups",
             "makes gradients travel together, and a schedule lets each travel by itself"),
            (arguments["gradients_in_arena"] is True, "gradients_in_arena=True",
             "lays gradients side by side, to be reduced together")):
        if wrong:
            raise InvalidArgument(f"schedule={schedule!r} and {name} exclude each other: {name} "
                                  f"{why}. Leave one of them out")
    if schedule == "two-phase":
        _check_two_phase(arguments["op"], arguments["compression"])
    if not steps_parameters_alone(optimizer):
        raise InvalidArgument(
            f"schedule={schedule!r} steps each parameter by itself, and whether "
            f"{optimizer.__name__} may be used like that is not known. If its step() gives a "
            "parameter the same update whatever other parameters there are, and changes nothing "
            "in param_groups, say so by a class attribute: steps_parameters_alone = True. "
            "Otherwise leave out schedule")
    return schedule


def _check_two_phase(op: ReduceOp, compression: Any) -> None:
    if op == ReduceOp.Adasum:
        raise InvalidArgument("schedule='two-phase' reduces parts of gradients on different ranks, "
                              "and Adasum needs them whole; use schedule='priority'")
    if rules_of(compression) is not None or codec_for(compression, torch.float32) != "":
        raise InvalidArgument("schedule='two-phase' sends gradients as they are; leave out "
                              "compression, or use schedule='priority'")


def steps_parameters_alone(optimizer: type) -> bool:
    """Whether stepping parameters one after the other is the same as stepping them together."""
    declared = getattr(optimizer, "steps_parameters_alone", None)
    if declared is not None:
        return bool(declared)
    step: Any = inspect.unwrap(getattr(optimizer, "step"))
    known = (getattr(torch.optim, name, None) for name in _ALONE)
    return any(inspect.unwrap(each.step) is step for each in known
               if each is not None and issubclass(optimizer, each))
