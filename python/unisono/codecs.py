# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What codecs keep from one step to the next, when the number of ranks changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core


class CodecStates:
    """What an engine has for checkpoints of its codecs."""

    _core: Any

    def codec_state(self) -> bytes:
        """What codecs have not sent yet and need besides, of this rank, for a checkpoint."""
        return self._core.codec_state()

    def load_codec_state(self, state: bytes) -> None:
        """Goes on from a ``codec_state()`` with the same bits. Of a job with another number of
        ranks, give it to ``redistribute_codec_states()`` first."""
        self._core.load_codec_state(state)


def redistribute_codec_states(states: Sequence[bytes], size: int) -> list[bytes]:
    """The states that ``size`` ranks begin with, of the ``codec_state()`` of all ranks of the job
    before, in rank order. The sum over all ranks of what was not sent stays the same."""
    return _core.redistribute_codec_states(list(states), size)
