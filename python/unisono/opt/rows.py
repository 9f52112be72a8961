# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Samples as the compiled trainer reads them: compressed rows with ascending columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidArgument

_WIDTH_MAX = 2**32 - 2


class Rows(NamedTuple):
    begins: Any
    columns: Any
    values: Any
    width: int

    def __len__(self) -> int:
        return len(self.begins) - 1


def rows_of(x: Any) -> Rows:
    """From a matrix of scipy.sparse, or anything with ``tocsr()`` or the parts of one, or from what
    NumPy takes for an array of two dimensions. Zeros of arrays are left out."""
    if hasattr(x, "tocsr"):
        x = x.tocsr()
    if hasattr(x, "indptr"):
        if hasattr(x, "has_canonical_format") and not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        begins, columns, values, shape = x.indptr, x.indices, x.data, x.shape
    else:
        dense = np.asarray(x)
        if dense.ndim != 2:
            raise InvalidArgument(f"X must have two dimensions, not {dense.ndim}")
        rows, columns = np.nonzero(dense)
        values, shape = dense[rows, columns], dense.shape
        begins = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    if shape[1] > _WIDTH_MAX:
        raise InvalidArgument(f"X has {shape[1]} features; at most {_WIDTH_MAX} can be")
    return Rows(np.ascontiguousarray(begins, np.uint64), np.ascontiguousarray(columns, np.uint32),
                np.ascontiguousarray(values, np.float32), int(shape[1]))


def products(rows: Rows, weights: Any) -> Any:
    """What each row times the weights is."""
    sums = np.zeros(len(rows))
    terms = weights[rows.columns] * rows.values.astype(np.float64)
    begins = rows.begins.astype(np.int64)
    filled = np.flatnonzero(np.diff(begins))
    if len(filled):
        sums[filled] = np.add.reduceat(terms, begins[filled])
    return sums
