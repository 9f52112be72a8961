# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Models, optimizers and samplers as elastic state."""

from __future__ import annotations

import copy
from typing import Any, Optional

import torch

from ...current import engine
from ..compression import CODEC_STATE
from ..functions import broadcast_optimizer_state, broadcast_parameters
from ..optimizer import DistributedMixin
from .sampler import ElasticSampler
from .state import ObjectState


class TorchState(ObjectState):
    """A model, an optimizer, and whatever else training needs to go on, as attributes.

        state = hvd.elastic.TorchState(model, optimizer, sampler=sampler, epoch=0, batch=0)
        state.commit()      # in memory, after each batch or so
        state.restore()     # back to the last commit
        state.sync()        # rank 0's state on every rank

    Keywords that are models, optimizers, learning-rate schedulers or ElasticSamplers (anything with
    state_dict() and load_state_dict()) are kept by their state dictionaries; others as values."""

    def __init__(self, model: Optional[torch.nn.Module] = None,
                 optimizer: Optional[torch.optim.Optimizer] = None, **values: Any):
        given = {"model": model, "optimizer": optimizer, **values}
        parts = {name: part for name, part in given.items() if _has_state(part)}
        self._parts: dict[str, Any] = {}
        self._saved_parts: dict[str, Any] = {}
        super().__init__(**{name: value for name, value in given.items()
                            if name not in parts and (name in values or value is not None)})
        for name, part in parts.items():
            setattr(self, name, part)
        self._parts = parts
        self.save()

    def __setattr__(self, name: str, value: Any) -> None:
        """A part that is replaced is kept from then on."""
        object.__setattr__(self, name, value)
        parts = self.__dict__.get("_parts")
        if parts is not None and name in parts:
            parts[name] = value

    def save(self) -> None:
        self._saved_parts = {name: copy.deepcopy(part.state_dict())
                             for name, part in self._parts.items()}
        super().save()

    def restore(self) -> None:
        for part in self._parts.values():
            if isinstance(part, DistributedMixin):
                part._exchange.abandon()  # what a schedule has left pending is not waited for
        for name, saved in self._saved_parts.items():
            part, saved = self._parts[name], copy.deepcopy(saved)
            codecs = saved.pop(CODEC_STATE, None) if isinstance(part, DistributedMixin) else None
            part.load_state_dict(saved)
            if codecs is not None and isinstance(part, DistributedMixin):
                part._exchange.restore_codecs(codecs)
        super().restore()

    def sync(self) -> None:
        for name, part in self._parts.items():
            _share(name, part)
        super().sync()

    def reset(self) -> None:
        for part in self._parts.values():
            if isinstance(part, ElasticSampler):
                part.reset()


def _has_state(part: Any) -> bool:
    return hasattr(part, "state_dict") and hasattr(part, "load_state_dict")


def _share(name: str, part: Any) -> None:
    if isinstance(part, torch.nn.Module):
        state = part.state_dict()
        tensors = {f"{name}.{key}": value for key, value in state.items()
                   if isinstance(value, torch.Tensor)}
        broadcast_parameters(tensors)
        if len(tensors) < len(state):
            part.load_state_dict({**engine().broadcast_object(
                {key: value for key, value in state.items()
                 if not isinstance(value, torch.Tensor)}, 0, name=f"elastic.{name}"),
                **{key: value for key, value in state.items() if isinstance(value, torch.Tensor)}})
    elif isinstance(part, torch.optim.Optimizer):
        broadcast_optimizer_state(part)
    else:
        part.load_state_dict(engine().broadcast_object(part.state_dict(), 0,
                                                       name=f"elastic.{name}"))
