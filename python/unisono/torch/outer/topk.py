# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Top-k with error feedback: of each chunk only the largest changes travel, and the rest waits.

What is sent is the largest of the residual and the new pseudo-gradient together; what the others
will not see of it becomes the residual. Packets of all ranks are gathered, and every rank adds them
up in rank order, so that all get the same bits.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional

import numpy as np
import torch

from ...errors import InvalidArgument, Mismatch
from .exchange import Link, Pending, Tensors
from .packing import pack, packed_bytes, quantised, restored, unpack

_LARGEST_CHUNK = 1 << 16


class TopK:
    """Sends the k largest elements of each chunk of a parameter, with error feedback.

        outer.TopK(chunk=4096, k=64, bits=2, decay=0.95)

    bits 2 sends a sign and one of two magnitudes of the chunk for each element, None the values as
    they are. decay: the share of a residual that is kept from one exchange to the next."""

    def __init__(self, chunk: int = 4096, k: int = 64, bits: Optional[int] = 2,
                 decay: float = 0.95):
        if not isinstance(chunk, int) or not 2 <= chunk <= _LARGEST_CHUNK:
            raise InvalidArgument(f"chunk is {chunk!r}; give 2 to {_LARGEST_CHUNK} elements")
        if not isinstance(k, int) or not 1 <= k <= chunk:
            raise InvalidArgument(f"k is {k!r}; give 1 to {chunk}, the elements of a chunk")
        if bits not in (2, None):
            raise InvalidArgument(f"bits is {bits!r}; give 2, or None for values as they are")
        if not 0 <= decay <= 1:
            raise InvalidArgument(f"decay is {decay!r}; give a number from 0 to 1")
        self.chunk, self.k, self.bits, self.decay = chunk, k, bits, float(decay)
        self._residuals: Tensors = {}

    def start(self, link: Link, name: str, tensors: Tensors, contributes: bool) -> Pending:
        return _Gathering(self, link, name, tensors, contributes)

    def residuals(self) -> Tensors:
        return {name: kept.clone() for name, kept in self._residuals.items()}

    def load_residuals(self, residuals: Mapping[str, torch.Tensor]) -> None:
        self._residuals = {name: kept.clone() for name, kept in residuals.items()}

    def _accumulated(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        kept = self._residuals.get(name)
        return tensor if kept is None else tensor.add_(kept, alpha=self.decay)

    def _blocks(self, flat: torch.Tensor) -> list[_Block]:
        """The whole chunks as rows of one block, and what is left as a row of another."""
        rows, left = divmod(flat.numel(), self.chunk)
        end = rows * self.chunk
        blocks = [_Block(flat[:end].view(rows, self.chunk), self.k)] if rows else []
        if left:
            share = -(-self.k * left // self.chunk)  # rounded up, so never 0
            blocks.append(_Block(flat[end:].view(1, left), share))
        return blocks

    def _packet_bytes(self, tensors: Tensors) -> int:
        return sum(block.packet_bytes(self.bits) for tensor in tensors.values()
                   for block in self._blocks(tensor.view(-1)))

    def __repr__(self) -> str:
        return f"TopK(chunk={self.chunk}, k={self.k}, bits={self.bits}, decay={self.decay})"


class _Block(NamedTuple):
    """Rows of equal length, of each of which k elements travel."""

    rows: torch.Tensor
    k: int

    @property
    def _index_bits(self) -> int:
        return max(1, (self.rows.shape[1] - 1).bit_length())

    def packet_bytes(self, bits: Optional[int]) -> int:
        return sum(self._parts(bits))

    def _parts(self, bits: Optional[int]) -> tuple[int, int, int]:
        """The bytes of positions, of values or their codes, and of magnitudes."""
        rows, element = self.rows.shape[0], self.rows.element_size()
        positions = packed_bytes(rows * self.k, self._index_bits)
        if bits is None:
            return positions, rows * self.k * element, 0
        return positions, packed_bytes(rows * self.k, bits), rows * 2 * element

    def encoded(self, bits: Optional[int]) -> list[np.ndarray]:
        positions = self.rows.abs().topk(self.k, dim=1, sorted=False).indices
        values = self.rows.gather(1, positions)
        parts = [pack(positions.numpy(), self._index_bits)]
        if bits is None:
            return [*parts, _bytes_of(values)]
        codes, magnitudes = quantised(values)
        return [*parts, pack(codes.numpy(), bits), _bytes_of(magnitudes)]

    def add_packet(self, data: np.ndarray, bits: Optional[int], sign: int) -> int:
        """Adds what a packet holds, or takes it away; returns how many bytes it has read."""
        first, second, third = self._parts(bits)
        shape = (self.rows.shape[0], self.k)
        positions = torch.from_numpy(
            unpack(data[:first], shape[0] * self.k, self._index_bits)).view(shape)
        middle, end = data[first:first + second], first + second + third
        if bits is None:
            values = self._numbers(middle).view(shape)
        else:
            codes = torch.from_numpy(unpack(middle, shape[0] * self.k, bits)).view(shape)
            magnitudes = self._numbers(data[first + second:end]).view(shape[0], 2)
            values = restored(codes, magnitudes)
        self.rows.scatter_add_(1, positions, values if sign > 0 else -values)
        return end

    def _numbers(self, data: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(data.copy()).view(self.rows.dtype)


def _bytes_of(tensor: torch.Tensor) -> np.ndarray:
    return tensor.contiguous().view(-1).numpy().view(np.uint8)


class _Gathering:
    """A packet on its way, and the residuals as they will be if the round counts."""

    def __init__(self, owner: TopK, link: Link, name: str, tensors: Tensors, contributes: bool):
        self._owner, self._tensors, self._name = owner, tensors, name
        self._kept: Tensors = {}
        self.finite = True  # what is sent, residuals included
        packet = np.empty(0, np.uint8)
        if contributes:
            packet = self._encode(tensors)
            # What was sent has been taken away from these: not finite here when it was not there.
            self.finite = all(bool(torch.isfinite(kept).all()) for kept in self._kept.values())
        self.sent_bytes = packet.nbytes
        self._handle = link.engine.allgather_async(
            torch.from_numpy(packet), name=name, process_set=link.process_set)

    def _encode(self, tensors: Tensors) -> np.ndarray:
        parts = []
        for key, tensor in tensors.items():
            kept = self._owner._accumulated(key, tensor.contiguous())
            for block in self._owner._blocks(kept.view(-1)):
                packed = np.concatenate(block.encoded(self._owner.bits))
                block.add_packet(packed, self._owner.bits, -1)
                parts.append(packed)
            self._kept[key] = kept
        return np.concatenate(parts) if parts else np.empty(0, np.uint8)

    def finish(self, contributors: int) -> Tensors:
        gathered = self._handle.wait().numpy()
        size = self._owner._packet_bytes(self._tensors)
        if gathered.nbytes != contributors * size:
            raise Mismatch(f'"{self._name}" brought {gathered.nbytes} bytes from {contributors} '
                           f"ranks, and a packet has {size}; give every rank the same TopK")
        sums = {key: torch.zeros_like(tensor, memory_format=torch.contiguous_format)
                for key, tensor in self._tensors.items()}
        place = 0
        for _ in range(contributors):
            for total in sums.values():
                for block in self._owner._blocks(total.view(-1)):
                    place += block.add_packet(gathered[place:], self._owner.bits, +1)
        if all(bool(torch.isfinite(total).all()) for total in sums.values()):
            self._owner._residuals.update(self._kept)
        return {key: total.div_(contributors) for key, total in sums.items()}

    def drop(self) -> None:
        self._handle.wait()


__all__ = ["TopK"]
