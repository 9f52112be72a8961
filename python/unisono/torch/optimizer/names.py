# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The names under which an optimizer's gradients travel: checked locally, before anything is sent.

A name is the tensor's identity across ranks, so it has to be unique in the whole job. Optimizers
are numbered on each engine and process set, and those whose names meet an earlier one's put their
number before them; ranks that make their optimizers in the same order agree on it.
"""

from __future__ import annotations

import collections
import weakref
from typing import Any, Iterable, NamedTuple, Optional

from ...errors import InvalidArgument

# Of each engine and process set, the names that its optimizers use without a prefix.
_names_in_use: "weakref.WeakKeyDictionary[Any, dict[int, list[frozenset[str]]]]" = (
    weakref.WeakKeyDictionary())


def checked_names(named_parameters: Optional[Iterable[tuple[str, Any]]],
                  param_groups: list[dict[str, Any]]) -> dict[Any, str]:
    """The name of every parameter; ``parameter.<n>`` for each when none are given. A tied
    parameter that has two names keeps the first."""
    everything = [p for group in param_groups for p in group["params"]]
    if named_parameters is None:
        return {p: f"parameter.{number}" for number, p in enumerate(everything)}
    pairs = list(named_parameters)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise InvalidArgument(
                "named_parameters should be a sequence of tuples (name, parameter), usually "
                f"produced by model.named_parameters(); it holds {type(pair).__name__} "
                f"{_short(pair)}")
    duplicates = sorted(_repeated(name for name, _ in pairs))
    if duplicates:
        raise InvalidArgument("Parameter names in named_parameters must be unique. Found "
                              f"duplicates: {', '.join(duplicates)}. Prefix the names of each "
                              "model, as in [('generator.' + n, p) for n, p in ...]")
    names: dict[Any, str] = {}
    for name, parameter in pairs:
        names.setdefault(parameter, name)
    _check_all_named(names, param_groups)
    return names


class Names(NamedTuple):
    """What goes before names: of what the optimizer numbers itself, and of parameters."""

    own: str
    parameter: str


def distinct_names(engine: Any, process_set: int, names: Iterable[str]) -> Names:
    """Prefixes that make the names differ from those in use."""
    optimizers = _names_in_use.setdefault(engine, {}).setdefault(process_set, [])
    names, own = frozenset(names), f"optimizer.{len(optimizers)}."
    clash = any(names & earlier for earlier in optimizers)
    optimizers.append(frozenset() if clash else names)
    return Names(own, own if clash else "")


def _check_all_named(names: dict[Any, str], param_groups: list[dict[str, Any]]) -> None:
    unnamed = [f"parameter {place} of group {number}, shape {tuple(p.shape)}"
               for number, group in enumerate(param_groups)
               for place, p in enumerate(group["params"]) if p not in names]
    if unnamed:
        raise InvalidArgument(
            "named_parameters was specified, but one or more model parameters were not named: "
            f"{'; '.join(unnamed[:8])}{'; ...' if unnamed[8:] else ''}. Pass the "
            "named_parameters() of every module that this optimizer trains, or None")


def _repeated(names: Iterable[str]) -> set[str]:
    return {name for name, count in collections.Counter(names).items() if count > 1}


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) < 60 else text[:57] + "..."
