# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The optimizer that exchanges gradients, and what else combines or compares whole models."""

from .distributed import DistributedMixin, DistributedOptimizer

__all__ = ["DistributedMixin", "DistributedOptimizer"]
