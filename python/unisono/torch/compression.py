# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How gradients are made smaller while they travel.

    hvd.allreduce(gradient, name="layer1", compression=hvd.Compression.fp16)

The engine's codecs do the work: the tensor is narrowed while it is packed, and the result has the
type of the argument. A compressor of your own is a class with ``compress(tensor)``
giving (tensor, context) and ``decompress(tensor, context)``; it runs around the call, in Python.
"""

from __future__ import annotations

from typing import Any, Optional, Union

import torch

from ..errors import InvalidArgument


class Compressor:
    """What a compressor offers; subclass it, or pass any object with these two methods."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """The tensor to send, and what decompress() needs to know."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor: torch.Tensor, context: Any) -> torch.Tensor:
        """The reduced tensor as the caller wants it."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Sends the tensor as it is."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: torch.Tensor, context: Any) -> torch.Tensor:
        return tensor


class FP16Compressor(Compressor):
    """Sends floating-point tensors as fp16; others as they are."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return _narrowed(tensor, torch.float16)

    @staticmethod
    def decompress(tensor: torch.Tensor, context: Any) -> torch.Tensor:
        return _widened(tensor, context)


class BF16Compressor(Compressor):
    """Sends floating-point tensors as bf16, which keeps fp32's range; others as they are."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return _narrowed(tensor, torch.bfloat16)

    @staticmethod
    def decompress(tensor: torch.Tensor, context: Any) -> torch.Tensor:
        return _widened(tensor, context)


class Compression:
    """The compressors that come with unisono."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor


AnyCompression = Union[type, Compressor, str, None]
_CODECS: dict[type, str] = {NoneCompressor: "", FP16Compressor: "fp16", BF16Compressor: "bf16"}
_BY_NAME = {"": NoneCompressor, "none": NoneCompressor, "fp16": FP16Compressor,
            "bf16": BF16Compressor}
_CASTS = ("fp16", "bf16")
_WIDE = (torch.float32, torch.float64)


def codec_for(compression: AnyCompression, dtype: Optional[torch.dtype] = None) -> Optional[str]:
    """The engine's codec; "" for the job's own, or where the type is one that a cast leaves alone;
    None when the compressor's own compress() and decompress() have to run."""
    if compression is NoneCompressor or compression is None:
        return ""
    codec = compression if isinstance(compression, str) else _codec_of_class(compression)
    if codec in _CASTS and dtype is not None and dtype not in _WIDE:
        return ""
    return codec


def compressor_of(compression: AnyCompression) -> Any:
    """The object whose compress() and decompress() to call, when codec_for() returned None."""
    if isinstance(compression, str):
        if compression not in _BY_NAME:
            raise InvalidArgument(f"compression is {compression!r}, which this build does not "
                                  "know; give Compression.none, fp16 or bf16, or a compressor "
                                  "of your own")
        return _BY_NAME[compression]
    for method in ("compress", "decompress"):
        if not callable(getattr(compression, method, None)):
            raise InvalidArgument(f"compression is {compression!r}, which has no {method}(); give "
                                  "Compression.none, fp16 or bf16, or a subclass of Compressor")
    return compression


def _codec_of_class(compression: Any) -> Optional[str]:
    # A subclass may compress otherwise, so only the very classes stand for a codec.
    return _CODECS.get(compression if isinstance(compression, type) else type(compression))


def _narrowed(tensor: torch.Tensor, to: torch.dtype) -> tuple[torch.Tensor, Any]:
    if tensor.dtype in _WIDE:
        return tensor.to(to), tensor.dtype
    return tensor, None


def _widened(tensor: torch.Tensor, context: Any) -> torch.Tensor:
    return tensor if context is None else tensor.to(context)
