# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Outer steps: training over slow links, where ranks meet only every so many local steps.

    import unisono.torch as hvd
    from unisono.torch import outer

    inner = torch.optim.AdamW(model.parameters(), lr=1e-3)
    optimizer = outer.OuterOptimizer(inner, model.named_parameters(), steps=30,
                                     update=outer.Nesterov(lr=0.7, momentum=0.9))
"""

from .exchange import Allreduce, Exchange, Link, Pending
from .optimizer import OuterOptimizer
from .rules import Averaging, BlockMomentum, Nesterov, UpdateRule
from .topk import TopK

__all__ = ["Allreduce", "Averaging", "BlockMomentum", "Exchange", "Link", "Nesterov",
           "OuterOptimizer", "Pending", "TopK", "UpdateRule"]
