# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A sampler that goes on in the middle of an epoch, also with another number of ranks."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING, Any, Iterator, Sized

import torch.utils.data

from ...membership import is_initialized, rank, size

if TYPE_CHECKING:
    _Sampler = torch.utils.data.Sampler[int]
else:
    _Sampler = torch.utils.data.Sampler


class ElasticSampler(_Sampler):
    """Shares the rows of a data set among the ranks, without those processed already.

        sampler = hvd.elastic.ElasticSampler(dataset)
        loader = DataLoader(dataset, sampler=sampler, batch_size=32)
        state = hvd.elastic.TorchState(model, optimizer, sampler=sampler)
        for number, batch in enumerate(loader):
            ...
            state.sampler.record_batch(number, 32)
        state.sampler.set_epoch(epoch + 1)      # at the end of the epoch

    Every rank gets as many rows: the first ones are given out again where they do not divide.

    What has been processed is a number, ``processed_num``: the ranks go through one order of the
    epoch side by side, so what they have done together is always its beginning."""

    def __init__(self, dataset: Sized, shuffle: bool = True, seed: int = 0):
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.processed_num = 0
        self.rank, self.num_replicas = 0, 1
        self.remaining_indices: list[int] = []
        self.indices: list[int] = []
        self.num_samples = self.total_size = 0
        self.reset()

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch: no row has been processed, and the order is another. Call it at the end
        of an epoch rather than at the beginning, so that a restart in the middle is kept."""
        self.epoch = epoch
        self.processed_num = 0
        self.reset()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """Counts a batch of so many rows on every rank as processed; all ranks call it alike. What
        remains is shared anew by reset(), not before. batch_idx is accepted for Horovod's sake."""
        self.processed_num += batch_size * self.num_replicas

    def get_indices(self, batch_idx: int, batch_size: int) -> list[int]:
        """The rows of a batch on this rank, counted since the iterator was made."""
        return self.indices[batch_idx * batch_size:(batch_idx + 1) * batch_size]

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.epoch = state_dict["epoch"]
        self.processed_num = state_dict["processed_num"]
        self.reset()

    def reset(self) -> None:
        """Shares what remains among the ranks as they are now."""
        self.num_replicas, self.rank = (size(), rank()) if is_initialized() else (1, 0)
        order = list(range(len(self.dataset)))
        if self.shuffle:
            # The same on every rank, and another one in every epoch.
            random.Random(self.seed + self.epoch).shuffle(order)
        self.remaining_indices = order[self.processed_num:]
        self.num_samples = math.ceil(len(self.remaining_indices) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas
        self.indices = self._mine()

    def _mine(self) -> list[int]:
        padded = itertools.islice(itertools.cycle(self.remaining_indices), self.total_size)
        return list(itertools.islice(padded, self.rank, None, self.num_replicas))

    def __iter__(self) -> Iterator[int]:
        self.indices = self._mine()
        return iter(self.indices)

    def __len__(self) -> int:
        return self.num_samples
