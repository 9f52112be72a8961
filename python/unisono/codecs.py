# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What codecs keep from one step to the next, when the number of ranks changes."""

from __future__ import annotations

from collections.abc import Sequence

from . import _core


def redistribute_codec_states(states: Sequence[bytes], size: int) -> list[bytes]:
    """The states that ``size`` ranks begin with, of the ``codec_state()`` of all ranks of the job
    before, in rank order. The sum over all ranks of what was not sent stays the same."""
    return _core.redistribute_codec_states(list(states), size)
