# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The outer state as a dictionary of plain values and tensors, by the names of parameters.

Every rank saves its own: residuals, and parameters between two outer steps, differ. What is under
way is waited for and saved as it came, so that a restored rank applies it at the step it is due.
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from ...errors import InvalidArgument
from .fragment import Flight, Fragment, Outcome
from .rounds import Rounds

KEY = "outer"


def saved(rounds: Rounds, names: list[str]) -> dict[str, Any]:
    """names: of all parameters of the inner optimizer, in its order."""
    rounds.settle()
    residuals = rounds.exchange.residuals()
    parameters: dict[str, Any] = {}
    for fragment in rounds.fragments:
        for each in fragment.parameters:
            parameters[each.name] = {
                "anchor": each.anchor.clone(),
                "state": {slot: kept.clone() for slot, kept in each.state.items()},
                "residual": residuals.get(each.name)}
    return {"names": list(names), "step": rounds.step, "parameters": parameters,
            "fragments": [_saved_fragment(each) for each in rounds.fragments]}


def _saved_fragment(fragment: Fragment) -> dict[str, Any]:
    flight: Optional[dict[str, Any]] = None
    if fragment.flight is not None:
        outcome = fragment.flight.outcome()
        averages = outcome.averages
        flight = {"due": fragment.flight.due, "broken_here": fragment.flight.broken_here,
                  "contributed": fragment.flight.contributed,
                  "averages": averages and {name: each.clone() for name, each in averages.items()},
                  "contributors": outcome.contributors, "broken": outcome.broken,
                  "active": outcome.active}
    return {"names": [each.name for each in fragment.parameters], "moved": fragment.moved,
            "flight": flight}


def outer_part(state: Any) -> dict[str, Any]:
    part = state.get(KEY) if isinstance(state, dict) else None
    if not isinstance(part, dict):
        raise InvalidArgument("the state has no outer part, so another optimizer has saved it; "
                              "load it into optimizer.inner and call optimizer.restart()")
    return part


def load(rounds: Rounds, part: dict[str, Any]) -> None:
    """Checked first and changed afterwards, so that a state that does not fit changes nothing."""
    _check_fits(rounds, part)
    same_cut = ([each["names"] for each in part["fragments"]]
                == [[each.name for each in fragment.parameters] for fragment in rounds.fragments])
    if not same_cut and any(each["flight"] for each in part["fragments"]):
        raise InvalidArgument("the state was saved while fragments were under way, and they were "
                              "cut differently; give the same fragments, or call synchronize() "
                              "before saving")
    rounds.step = int(part["step"])
    for number, fragment in enumerate(rounds.fragments):
        for each in fragment.parameters:
            entry = part["parameters"][each.name]
            each.anchor.copy_(entry["anchor"])
            for slot, kept in each.state.items():
                kept.copy_(entry["state"][slot])
        if same_cut:
            _load_fragment(fragment, part["fragments"][number])
        else:
            fragment.moved, fragment.flight = any(e["moved"] for e in part["fragments"]), None
    rounds.exchange.load_residuals({name: entry["residual"]
                                    for name, entry in part["parameters"].items()
                                    if entry["residual"] is not None})


def _load_fragment(fragment: Fragment, entry: dict[str, Any]) -> None:
    fragment.moved, fragment.flight = bool(entry["moved"]), None
    flight = entry["flight"]
    if flight is not None:
        averages = flight["averages"]
        outcome = Outcome(averages and {name: each.clone() for name, each in averages.items()},
                          flight["contributors"], flight["broken"], flight["active"])
        fragment.flight = Flight(flight["due"], flight["broken_here"],
                                 flight.get("contributed", True), lambda: outcome)


def _check_fits(rounds: Rounds, part: dict[str, Any]) -> None:
    mine = {each.name: each for fragment in rounds.fragments for each in fragment.parameters}
    strange = sorted(set(mine) ^ set(part["parameters"]))
    if strange:
        raise InvalidArgument(
            "the state and this optimizer do not have the same parameters; only one has "
            + ", ".join(strange[:8]) + ("..." if strange[8:] else "")
            + ". Build the model as it was, and pass its named_parameters()")
    for name, each in mine.items():
        entry = part["parameters"][name]
        if entry["anchor"].shape != each.anchor.shape:
            raise InvalidArgument(f"{name} has shape {tuple(each.anchor.shape)}, and "
                                  f"{tuple(entry['anchor'].shape)} in the state; build the model "
                                  "as it was")
        if set(entry["state"]) != set(each.state):
            raise InvalidArgument(
                f"the state holds {_listed(entry['state'])} of {name}, and {rounds.rule!r} keeps "
                f"{_listed(each.state)}; give the update rule that it was saved with")


def _listed(state: dict[str, torch.Tensor]) -> str:
    return ", ".join(sorted(state)) or "nothing"


def in_order_of(names_by_group: list[list[str]], saved_names: list[str],
                state: dict[str, Any]) -> dict[str, Any]:
    """The inner optimizer's state with each group's parameters in the order of these names. torch
    matches parameters by their place; here the name decides."""
    groups, start = [], 0
    for number, group in enumerate(state["param_groups"]):
        there = saved_names[start:start + len(group["params"])]
        start += len(there)
        here = names_by_group[number] if number < len(names_by_group) else []
        if sorted(here) != sorted(there):
            raise InvalidArgument(f"group {number} of the inner optimizer has other parameters "
                                  "than the state; build the optimizer as it was")
        number_of = dict(zip(there, group["params"]))
        groups.append({**group, "params": [number_of[name] for name in here]})
    return {**state, "param_groups": groups}


__all__ = ["KEY", "in_order_of", "load", "outer_part", "saved"]
