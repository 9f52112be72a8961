# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse collectives: some elements of a long vector, as indices and values.

Given are indices, values and a length, or a matrix of scipy.sparse, or a sparse tensor of torch;
what comes back is of the same kind. No framework is imported here: what is passed proves that its
framework is loaded.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from . import _core, arrays
from ._core import ReduceOp
from .errors import InvalidArgument
from .handle import Handle
from .process_set import global_process_set, identity_of
from .submit import AnySet, Submitter, Tensor, chosen_operator

_ALL = global_process_set
_KIND = _core.Collective
_INDEX_TYPES = ("int32", "int64", "uint32", "uint64")


class _Stream(NamedTuple):
    """Elements of a vector, and how the result becomes what the caller gave."""

    indices: Any
    values: Any
    length: int
    restore: Callable[[Any, Any], Any]
    fills_zeros: bool = False  # where no element came


class _Indices:
    """The indices of a result, where arrays.py looks for what a ticket claims."""

    def __init__(self, result: _core.SparseResult):
        self._result = result

    def output(self, bits: bool = False) -> Any:
        return self._result.indices()


def _stream_of(indices: Any, values: Any, length: Optional[int]) -> _Stream:
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is not None and scipy_sparse.issparse(indices):
        _only_one(values, length, "a sparse matrix")
        return _of_scipy(indices)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(indices, torch.Tensor) and \
            indices.layout is not torch.strided:
        _only_one(values, length, "a sparse tensor")
        from .torch_sparse import stream_of
        return _Stream(*stream_of(indices))
    if values is None or length is None:
        raise InvalidArgument("give indices, values and the length of the whole vector, or one "
                              "matrix of scipy.sparse or sparse tensor of torch")
    return _Stream(_usable(indices), values, int(length), lambda at, what: (at, what))


def _only_one(values: Any, length: Optional[int], what: str) -> None:
    if values is not None or length is not None:
        raise InvalidArgument(f"{what} brings its own values and length; leave them out")


def _usable(indices: Any) -> Any:
    """Indices that are neither an array nor of a type that the engine takes are copied."""
    if hasattr(indices, "__dlpack__") and not isinstance(indices, np.ndarray):
        return indices
    found = np.asarray(indices)
    if found.size == 0 and not isinstance(indices, np.ndarray):
        return found.astype(np.int64)
    if found.dtype.kind in "iu" and found.dtype.name not in _INDEX_TYPES:
        return found.astype(np.int64)
    return found


def _of_scipy(matrix: Any) -> _Stream:
    """Element (r, c) of a matrix with n columns is element r n + c of the vector."""
    import scipy.sparse  # loaded already: the matrix is of it

    if matrix.ndim > 2:
        raise InvalidArgument(f"a sparse array has one dimension or two here, not {matrix.ndim}; "
                              "reshape it")
    given = matrix.tocoo()
    shape = matrix.shape
    if matrix.ndim == 2:
        flat = given.row.astype(np.int64) * shape[1] + given.col
    else:
        flat = given.coords[0].astype(np.int64)
    make = scipy.sparse.coo_array if isinstance(matrix, scipy.sparse.sparray) \
        else scipy.sparse.coo_matrix

    def restore(at: np.ndarray, what: np.ndarray) -> Any:
        coordinates = np.divmod(at, shape[1]) if len(shape) == 2 and shape[1] else (at,) * len(shape)
        return make((what, coordinates), shape=shape).asformat(matrix.format)

    return _Stream(flat, given.data, int(np.prod(shape, dtype=np.int64)), restore)


class SparseCalls(Submitter):
    """The sparse calls of unisono.Engine. Thread: any."""

    def sparse_allreduce(self, indices: Tensor, values: Optional[Tensor] = None,
                         length: Optional[int] = None, *, name: Optional[str] = None,
                         op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                         prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                         process_set: AnySet = _ALL, priority: int = 0, team: int = 0,
                         algorithm: str = "", expected_nnz: int = 0, allow_loss: bool = False,
                         top_k: int = 0, same_indices: bool = False) -> Any:
        """The reduction of every rank's elements; ranks may have different ones, or none.

            indices, values = unisono.sparse_allreduce(indices, values, length, name="embedding")
            matrix = unisono.sparse_allreduce(matrix, name="embedding")    # scipy or torch

        Indices may come in any order and twice; values of one index are combined. The result has
        increasing indices; one that was dense on the way comes without its neutral elements. The
        engine chooses the algorithm from how many elements the ranks have and what links cost,
        unless algorithm names one of docs/COMPRESSION.md; expected_nnz stands for the counts.
        allow_loss lets it choose "oktopk", which keeps the top_k largest elements only. With
        same_indices ranks ask each other whether they have the same ones, and only values travel."""
        return self.sparse_allreduce_async(
            indices, values, length, name=name, op=op, average=average,
            prescale_factor=prescale_factor, postscale_factor=postscale_factor,
            process_set=process_set, priority=priority, team=team, algorithm=algorithm,
            expected_nnz=expected_nnz, allow_loss=allow_loss, top_k=top_k,
            same_indices=same_indices).wait()

    def sparse_allreduce_async(self, indices: Tensor, values: Optional[Tensor] = None,
                               length: Optional[int] = None, *, name: Optional[str] = None,
                               op: Optional[ReduceOp] = None, average: Optional[bool] = None,
                               prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                               process_set: AnySet = _ALL, priority: int = 0, team: int = 0,
                               algorithm: str = "", expected_nnz: int = 0,
                               allow_loss: bool = False, top_k: int = 0,
                               same_indices: bool = False) -> Handle:
        """Like sparse_allreduce(), at once. What was passed is copied and may be used again."""
        stream = _stream_of(indices, values, length)
        op = chosen_operator(average, op)
        if stream.fills_zeros and op not in (ReduceOp.Sum, ReduceOp.Average):
            raise InvalidArgument(f"rows of a hybrid tensor are filled up with zeros, which {op} "
                                  "does not take for nothing; use Sum or Average, or a tensor "
                                  "without dense dimensions")
        settings = _core.SparseSettings(
            op=op, prescale=prescale_factor, postscale=postscale_factor,
            process_set=identity_of(process_set), priority=priority, team=team,
            algorithm=algorithm, expected_nnz=expected_nnz, allow_loss=allow_loss, top_k=top_k,
            same_indices=same_indices)
        return self._submit_sparse(_KIND.sparse_allreduce, stream, name, settings)

    def sparse_allgather(self, indices: Tensor, values: Optional[Tensor] = None,
                         length: Optional[int] = None, *, name: Optional[str] = None,
                         op: Optional[ReduceOp] = None, process_set: AnySet = _ALL,
                         priority: int = 0, team: int = 0, refuse_overlap: bool = False) -> Any:
        """Every rank's elements together. Those with the same index are combined by op, Sum unless
        said otherwise, in the order of ranks; with refuse_overlap they are a Mismatch."""
        return self.sparse_allgather_async(
            indices, values, length, name=name, op=op, process_set=process_set,
            priority=priority, team=team, refuse_overlap=refuse_overlap).wait()

    def sparse_allgather_async(self, indices: Tensor, values: Optional[Tensor] = None,
                               length: Optional[int] = None, *, name: Optional[str] = None,
                               op: Optional[ReduceOp] = None, process_set: AnySet = _ALL,
                               priority: int = 0, team: int = 0,
                               refuse_overlap: bool = False) -> Handle:
        """Like sparse_allgather(), at once."""
        settings = _core.SparseSettings(
            op=ReduceOp.Sum if op is None else op, process_set=identity_of(process_set),
            priority=priority, team=team, refuse_overlap=refuse_overlap)
        return self._submit_sparse(_KIND.sparse_allgather, _stream_of(indices, values, length),
                                   name, settings)

    def _submit_sparse(self, kind: _core.Collective, stream: _Stream, name: Optional[str],
                       settings: _core.SparseSettings) -> Handle:
        at = arrays.to_engine(stream.indices, False)
        what = arrays.to_engine(stream.values, False)
        ticket = _core.submit_sparse(self._core, kind, self._base_name(kind.name, name, settings),
                                     what.dtype, at.memory, what.memory, stream.length, settings)

        def finish() -> Any:
            result = _core.sparse_result(ticket)
            return stream.restore(at.wrap(_Indices(result)), what.wrap(result))

        return Handle([ticket], finish)
