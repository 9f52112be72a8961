# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The operators by which tensors are combined, under the names that Horovod has for them."""

from ._core import ReduceOp as ReduceOp

Sum, Average, Min, Max = ReduceOp.Sum, ReduceOp.Average, ReduceOp.Min, ReduceOp.Max
Product, And, Or = ReduceOp.Product, ReduceOp.And, ReduceOp.Or
Adasum = ReduceOp.Adasum
