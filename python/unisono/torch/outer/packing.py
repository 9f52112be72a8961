# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Chosen elements of a row as bytes: positions in as few bits as they need, values in two bits.

Of two bits one is the sign, and the other says which of the row's two magnitudes it is: the mean of
those above the row's mean magnitude, or of the rest. Every size follows from the shape alone, so a
packet needs no header, and those of all ranks are equally long.
"""

from __future__ import annotations

import numpy as np
import torch


def packed_bytes(count: int, bits: int) -> int:
    return (count * bits + 7) // 8


def pack(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Numbers from 0 to 2^bits - 1, the lowest bit of each first."""
    spread = (numbers.reshape(-1, 1) >> np.arange(bits)) & 1
    return np.packbits(spread.astype(np.uint8), bitorder="little")


def unpack(data: np.ndarray, count: int, bits: int) -> np.ndarray:
    spread = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
    return spread.astype(np.int64) @ (np.int64(1) << np.arange(bits, dtype=np.int64))


def quantised(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of rows of values, the codes of two bits and the two magnitudes of each row."""
    size = values.abs()
    high = size > size.mean(1, keepdim=True)
    above, below = high.sum(1), (~high).sum(1)
    zero = torch.zeros((), dtype=size.dtype)
    lower = torch.where(high, zero, size).sum(1) / below.clamp(min=1)
    upper = torch.where(high, size, zero).sum(1) / above.clamp(min=1)
    codes = (values < 0).to(torch.int64) * 2 + high.to(torch.int64)
    return codes, torch.stack([lower, upper], 1)


def restored(codes: torch.Tensor, magnitudes: torch.Tensor) -> torch.Tensor:
    return magnitudes.gather(1, codes & 1) * (1 - (codes & 2)).to(magnitudes.dtype)


__all__ = ["pack", "packed_bytes", "quantised", "restored", "unpack"]
