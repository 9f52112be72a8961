# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of DistributedOptimizer, checked, and in a form that survives pickling."""

from __future__ import annotations

import operator
from typing import Any, Optional, Sequence, Union

import torch

from ... import current
from ...engine import ReduceOp
from ...errors import InvalidArgument
from ...groups import split_groups
from ...process_set import ProcessSet, global_process_set

Places = list[list[int]]  # of each group, the places of its parameters in the optimizer


def checked_passes(passes: int) -> int:
    if isinstance(passes, bool) or not isinstance(passes, int) or passes < 1:
        raise InvalidArgument(f"backward_passes_per_step is {passes!r}; give a whole number, 1 or "
                              "more")
    return passes


def checked_factor(factor: float, op: ReduceOp) -> float:
    if not factor > 0:
        raise InvalidArgument(f"gradient_predivide_factor is {factor}; give a number above 0")
    if factor != 1.0 and op != ReduceOp.Average:
        raise InvalidArgument("gradient_predivide_factor not supported with op != Average; op is "
                              f"{op.name}, so scale the gradients yourself")
    return float(factor)


def checked_team(team: int, schedule: Optional[str]) -> int:
    teams = int(current.engine().options().get("teams")) if current.is_initialized() else None
    if isinstance(team, bool) or not isinstance(team, int) or team < 0 or (teams or team) < team:
        raise InvalidArgument(f"team is {team!r}; the option teams is {teams or 'not known yet'}, "
                              "so give 0 for any, or a number from 1 to teams, and raise teams in "
                              "unisono.init(teams=...) where there are too few")
    if team and schedule == "two-phase":
        raise InvalidArgument('team is for allreduces; schedule "two-phase" has none')
    return team


def chosen_groups(parameters: list[torch.Tensor], num_groups: int,
                  groups: Union[int, Sequence[Any], None], balance: str) -> Optional[Places]:
    """The groups asked for, or None to leave grouping to the engine. Parameters in no list are
    groups of their own."""
    if groups is not None and num_groups:
        raise InvalidArgument("give num_groups or groups, not both")
    if groups is None or isinstance(groups, int):
        return _by_number(parameters, num_groups if groups is None else groups, balance)
    place_of = {p: place for place, p in enumerate(parameters)}
    chosen: Places = []
    seen: set[int] = set()
    for number, group in enumerate(groups):
        if isinstance(group, torch.Tensor) or not hasattr(group, "__iter__"):
            raise InvalidArgument("groups should be a non-negative integer or a list of lists of "
                                  f"parameters; groups[{number}] is a {type(group).__name__}")
        places = []
        for p in group:
            place = place_of.get(p) if isinstance(p, torch.Tensor) else None
            if place is None or place in seen:
                raise InvalidArgument(
                    f"groups[{number}] names {_described(p)}, which "
                    + ("is in a group already; name it once" if place is not None else
                       "this optimizer does not train; leave it out"))
            seen.add(place)
            places.append(place)
        chosen.append(places)
    return chosen + [[place] for place in range(len(parameters)) if place not in seen]


def _by_number(parameters: list[torch.Tensor], count: int, balance: str) -> Optional[Places]:
    count = operator.index(count)
    if count < 0:
        raise InvalidArgument(f"num_groups is {count}; give 0 to leave grouping to the engine, or "
                              "the number of groups")
    if count == 0:
        return None
    trained = [place for place, p in enumerate(parameters) if p.requires_grad]
    sizes = [parameters[place].numel() * parameters[place].element_size() for place in trained]
    return [[trained[i] for i in run] for run in split_groups(sizes, count, balance)]


def _described(p: Any) -> str:
    return f"a tensor of shape {tuple(p.shape)}" if isinstance(p, torch.Tensor) else repr(p)


def packed_set(process_set: ProcessSet) -> tuple[Optional[list[int]], Optional[int]]:
    return process_set.ranks, process_set.process_set_id


def unpacked_set(ranks: Optional[list[int]], identity: Optional[int]) -> ProcessSet:
    if identity == 0:
        return global_process_set
    process_set = ProcessSet(ranks or [])
    process_set.process_set_id = identity
    return process_set
