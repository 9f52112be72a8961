# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters whose step has begun and not ended: nobody reads the old value of one.

While a parameter waits for its gradient it is of a class that torch asks before any function,
method or property sees it (``__torch_function__``). It ends the step first and then becomes what it
was, so that a checkpoint, an average of weights, a tied layer or a print finds the new value
without knowing of schedules, and the class costs nothing while nothing is pending. What torch
cannot see are other tensors that share the parameter's memory.
"""

from __future__ import annotations

import copy
from typing import Any, Callable, Iterator, Optional

import torch

End = Callable[[], None]

# By id: whoever ends a step holds the parameter.
_ends: dict[int, tuple[type, End]] = {}


class PendingParameter(torch.nn.Parameter):
    """A parameter whose step ends when it is used."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (),
                           kwargs: Optional[dict[str, Any]] = None) -> Any:
        for parameter in _pending_among([args, kwargs or {}]):
            end(parameter)
        return func(*args, **(kwargs or {}))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        end(self)
        return copy.deepcopy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        end(self)
        return self.__reduce_ex__(protocol)


def can_be_guarded(parameter: torch.Tensor) -> bool:
    """Whether the class of a parameter may be changed for a while; those of subclasses with
    behaviour of their own may not."""
    return type(parameter) in (torch.nn.Parameter, torch.Tensor)


def is_pending(parameter: Any) -> bool:
    return type(parameter) is PendingParameter


def guard(parameter: torch.Tensor, to_end: End) -> None:
    """From now on to_end() is called before anybody uses the parameter. It calls release()."""
    _ends[id(parameter)] = (type(parameter), to_end)
    parameter.__class__ = PendingParameter


def release(parameter: torch.Tensor) -> None:
    kept = _ends.pop(id(parameter), None)
    if kept is not None:
        parameter.__class__ = kept[0]


def end(parameter: torch.Tensor) -> None:
    """Ends the parameter's step, if it is pending."""
    kept = _ends.get(id(parameter))
    if kept is not None:
        kept[1]()


def _pending_among(values: Any) -> Iterator[torch.Tensor]:
    for value in values.values() if isinstance(values, dict) else values:
        if is_pending(value):
            yield value
        elif isinstance(value, (list, tuple, dict)):
            yield from _pending_among(value)
