# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Starting from the same point on every rank: parameters, optimizer state, Python objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Union

import torch

from ..current import engine
from ..engine import AnySet
from ..errors import InvalidArgument
from ..exports import defined_names
from ..process_set import global_process_set
from .compression import CODEC_STATE

_ALL = global_process_set
_Named = Union[Mapping[str, Any], Iterable[Any]]


def broadcast_parameters(params: _Named, root_rank: int = 0, process_set: AnySet = _ALL) -> None:
    """Overwrites every rank's tensors with root_rank's.

        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_parameters(model.named_parameters(), root_rank=0)

    Takes a dictionary, (name, tensor) pairs or tensors alone. All of them travel at once."""
    pairs = _named_tensors(params)
    job = engine()
    handles = [job.broadcast_async_(tensor, root_rank, name=f"parameter.{name}",
                                    process_set=process_set) for name, tensor in pairs]
    for handle in handles:
        handle.wait()


def _named_tensors(params: _Named) -> list[tuple[str, torch.Tensor]]:
    if isinstance(params, Mapping):
        entries = list(params.items())
    elif isinstance(params, torch.Tensor) or not isinstance(params, Iterable):
        raise InvalidArgument(f"params are of type {type(params).__name__}; give a state_dict, "
                              "named_parameters(), or a list of tensors")
    else:
        entries = [each if isinstance(each, tuple) and len(each) == 2 else (f"{number}", each)
                   for number, each in enumerate(params)]
    for name, tensor in entries:
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgument(f'"{name}" is of type {type(tensor).__name__}, not a tensor; '
                                  "leave it out and use broadcast_object() for it")
    names = [name for name, _ in entries]
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InvalidArgument(f'"{repeated}" names two parameters; give each a name of its own')
    return entries


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int = 0,
                              model: Optional[torch.nn.Module] = None, *,
                              process_set: AnySet = _ALL) -> None:
    """Overwrites the state and the hyperparameters of every rank's optimizer with root_rank's.

        hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    Parameters are not touched and nothing is stepped: state that exists on root_rank comes to
    exist everywhere, and state that does not is dropped. What the codecs of a DistributedOptimizer
    have alike on all ranks, such as how far a warm-up is, becomes root_rank's; what a rank has not
    sent stays its own. As with Horovod, ``.grad`` is zero
    afterwards where the optimizer had no state yet, and untouched where it had. ``model`` is
    accepted for Horovod's sake."""
    if isinstance(optimizer, torch.optim.LBFGS):
        raise InvalidArgument("the state of torch.optim.LBFGS has no fixed shape; broadcast "
                              "optimizer.state_dict() with broadcast_object() and load it")
    _check_same_parameters(optimizer, process_set)
    mine = optimizer.state_dict()
    mine.pop(CODEC_STATE, None)  # every rank keeps what it has not sent
    at_root = engine().rank() == root_rank
    exchange = getattr(optimizer, "_exchange", None)  # of a DistributedOptimizer
    given = None
    if at_root:
        given = _outline(mine), exchange.shared_codecs() if exchange is not None else None
    outline, codecs = engine().broadcast_object(given, root_rank, name="optimizer_state",
                                                process_set=process_set)
    state = mine["state"] if at_root else _made(outline["state"])
    tensors = {f"{index}.{key}": value for index, entries in state.items()
               for key, value in _entries(entries) if isinstance(value, torch.Tensor)}
    broadcast_parameters({f"optimizer_state.{name}": value for name, value in tensors.items()},
                         root_rank, process_set)
    if not at_root:
        optimizer.load_state_dict({**outline, "state": state})
        if codecs is not None and exchange is not None:
            exchange.share_codecs(codecs)
    if not mine["state"]:
        _zero_gradients(optimizer)


def _zero_gradients(optimizer: torch.optim.Optimizer) -> None:
    """Horovod steps a new optimizer on zeros to make its state. Programs that count on the zeros
    find them here, too."""
    sparse = isinstance(optimizer, torch.optim.SparseAdam)
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.requires_grad:
                zeros = torch.zeros_like(parameter)
                # As embeddings make them: whole rows, by their number.
                parameter.grad = zeros.to_sparse(1) if sparse else zeros


class _Blank:
    """Stands for a tensor that follows on its own."""

    def __init__(self, tensor: torch.Tensor):
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype


def _outline(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The state dictionary with its tensors blanked out; small enough to pickle."""
    def blanked(entries: Any) -> Any:
        if not isinstance(entries, dict):
            return entries
        return {key: _Blank(value) if isinstance(value, torch.Tensor) else value
                for key, value in entries.items()}

    return {**state_dict, "state": {index: blanked(entries)
                                    for index, entries in state_dict["state"].items()}}


def _made(state: dict[Any, Any]) -> dict[Any, Any]:
    """The outline's state with room for the tensors."""
    def room(entries: Any) -> Any:
        if not isinstance(entries, dict):
            return entries
        return {key: torch.zeros(value.shape, dtype=value.dtype)
                if isinstance(value, _Blank) else value for key, value in entries.items()}

    return {index: room(entries) for index, entries in state.items()}


def _entries(entries: Any) -> Iterable[tuple[Any, Any]]:
    return entries.items() if isinstance(entries, dict) else ()


def _check_same_parameters(optimizer: torch.optim.Optimizer, process_set: AnySet) -> None:
    """Found before anything is written, and on every rank, so that nobody is left waiting."""
    mine = [[tuple(each.shape) for each in group["params"]] for group in optimizer.param_groups]
    everyones = allgather_object(mine, name="optimizer_parameters", process_set=process_set)
    for other, theirs in enumerate(everyones):
        if theirs != everyones[0]:
            raise InvalidArgument(
                f"the optimizer of member {other} has parameters of other shapes, or in other "
                f"groups, than that of member 0: {theirs} against {everyones[0]}; build the same "
                "model and optimizer on every rank")


def broadcast_object(obj: Any = None, root_rank: int = 0, name: Optional[str] = None,
                     process_set: AnySet = _ALL) -> Any:
    """root_rank's object on every rank; others may pass anything.

        epoch = hvd.broadcast_object(epoch, root_rank=0)

    It travels as a pickle among the ranks of this job, which have proved that they belong to it."""
    return engine().broadcast_object(obj, root_rank, name=name, process_set=process_set)


def broadcast_object_fn(root_rank: int = 0, name: Optional[str] = None,
                        process_set: AnySet = _ALL) -> Callable[[Any], Any]:
    """broadcast_object() with everything but the object settled.

        share = hvd.broadcast_object_fn(root_rank=0, name="settings")
        settings = share(settings)"""
    def share(obj: Any = None) -> Any:
        return broadcast_object(obj, root_rank, name, process_set)

    return share


def allgather_object(obj: Any, name: Optional[str] = None,
                     process_set: AnySet = _ALL) -> list[Any]:
    """Every rank's object, in rank order.

        losses = hvd.allgather_object(loss.item())"""
    return engine().allgather_object(obj, name=name, process_set=process_set)


if not TYPE_CHECKING:
    __all__ = defined_names(globals())
