# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What codecs keep from one step to the next, when the number of ranks changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from . import _core
from .process_set import global_process_set, identity_of
from .submit import AnySet

_ALL = global_process_set


class CodecStates:
    """What an engine has for checkpoints of its codecs."""

    _core: Any

    def codec_state(self, names: Optional[Sequence[str]] = None,
                    process_set: AnySet = _ALL) -> bytes:
        """What codecs have not sent yet and need besides, of this rank, for a checkpoint. names: of
        allreduces of the process set, with the parts of each (NAME/part.3); None: everything."""
        return self._core.codec_state(_of(names), identity_of(process_set), False)

    def load_codec_state(self, state: bytes, names: Optional[Sequence[str]] = None,
                         process_set: AnySet = _ALL) -> None:
        """Goes on from a ``codec_state()`` with the same bits. With names, what is kept of others
        stays as it is. Of a job with another number of ranks, give the state to
        ``redistribute_codec_states()`` first."""
        self._core.load_codec_state(state, _of(names), identity_of(process_set), False)

    def _shared_codecs(self, names: Sequence[str], process_set: AnySet) -> bytes:
        """Of what is kept, only what all ranks have alike."""
        return self._core.codec_state(_of(names), identity_of(process_set), True)

    def _share_codecs(self, state: bytes, names: Sequence[str], process_set: AnySet) -> None:
        self._core.load_codec_state(state, _of(names), identity_of(process_set), True)


def _of(names: Optional[Sequence[str]]) -> Optional[list[str]]:
    return None if names is None else [f"allreduce.{name}" for name in names]


def redistribute_codec_states(states: Sequence[bytes], size: int) -> list[bytes]:
    """The states that ``size`` ranks begin with, of the ``codec_state()`` of all ranks of the job
    before, in rank order. The sum over all ranks of what was not sent stays the same."""
    return _core.redistribute_codec_states(list(states), size)
