# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Training that survives faults: state that is committed, restored and shared, and its loop.

    state = hvd.elastic.TorchState(model, optimizer, epoch=0, batch=0)

    @hvd.elastic.run
    def train(state):
        while state.epoch < 10:
            ...
            state.commit()

    train(state)
"""

from .run import run
from .sampler import ElasticSampler
from .state import HostsUpdatedInterrupt, ObjectState, State
from .torch_state import TorchState

__all__ = ["run", "State", "ObjectState", "TorchState", "ElasticSampler", "HostsUpdatedInterrupt"]
