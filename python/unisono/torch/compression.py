# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How gradients are made smaller while they travel.

    hvd.allreduce(gradient, name="layer1", compression=hvd.Compression.fp16)
    hvd.allreduce(gradient, name="layer1", compression="ef|topk:512:4|qsgd:4")

The engine's codecs do the work: the tensor is encoded while it is packed, and the result has the
type of the argument. A codec is text, or rules by the names of parameters, of which the first that
fits counts: ``{"*.bias": "none", "conv*": "ef|topk:512:8"}``, or the same as
``"*.bias=none,conv*=ef|topk:512:8"``. What no rule fits has the job's codec. A compressor of your own is a class with ``compress(tensor)``
giving (tensor, context) and ``decompress(tensor, context)``; it runs around the call, in Python.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Any, Optional, Union

import torch

from .. import _core
from ..errors import InvalidArgument
from ..reduce_ops import ReduceOp


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


AnyCompression = Union[type, Compressor, str, Mapping[str, str], None]
_CODECS: dict[type, str] = {NoneCompressor: "", FP16Compressor: "fp16", BF16Compressor: "bf16"}
_BY_NAME = {"": NoneCompressor, "none": NoneCompressor, "fp16": FP16Compressor,
            "bf16": BF16Compressor}
# Where a state_dict() has what codecs keep.
CODEC_STATE = "unisono_codec_state"
_CASTS = ("fp16", "bf16")
_BY_ELEMENT = ("none", *_CASTS)
_WIDE = (torch.float32, torch.float64)
_NARROW = (torch.float16, torch.bfloat16)


def codec_for(compression: AnyCompression, dtype: Optional[torch.dtype] = None,
              name: str = "") -> Optional[str]:
    """The engine's codec of a tensor; "" for the job's own, or where the type is one that the codec
    leaves alone; None when the compressor's own compress() and decompress() have to run."""
    if compression is NoneCompressor or compression is None:
        return ""
    rules = rules_of(compression)
    codec: Optional[str]
    if rules is not None:
        codec = next((codec for fits, codec in rules if fits(name)), "")
    elif isinstance(compression, str):
        codec = compression
    else:
        codec = _codec_of_class(compression)
    if dtype is not None and dtype not in _WIDE and (codec in _CASTS
                                                     or dtype not in _NARROW):
        return codec and ""
    return codec


def rules_of(compression: Any) -> Optional[list[tuple[Any, str]]]:
    """Rules by name, as (whether one fits a name, its codec); None when it is something else."""
    if isinstance(compression, str) and "=" in compression:
        pairs = [rule.partition("=")[::2] for rule in compression.split(",")]
    elif isinstance(compression, Mapping):
        pairs = list(compression.items())
    else:
        return None
    return [(_fits(pattern.strip()), codec.strip()) for pattern, codec in pairs]


def is_cast(codec: str) -> bool:
    """Whether elements travel each by itself, so that a tensor's name and its place among others
    mean nothing to the codec. Raises InvalidArgument for what is no codec."""
    return _core.canonical_codec(codec) in _BY_ELEMENT


def has_factors(codec: str) -> bool:
    """Whether the codec sends matrices as products, and vectors as they are."""
    return "powersgd" in _core.canonical_codec(codec)


def job_packs(options: _core.Options) -> bool:
    """Whether the job's own codec, or one of its rules, is more than a cast."""
    rules = rules_of(options.get("codec_rules")) or []
    return not all(map(is_cast, [options.get("codec"), *(codec for _, codec in rules)]))


class JobCodecs:
    """What a job's options say of codecs. Its engine knows the names of operations, which are not
    always those of parameters: buckets have numbers, and optimizers put something before names."""

    def __init__(self, options: _core.Options):
        self.codec = options.get("codec")
        self.packs = job_packs(options)  # one of them is more than a cast
        self.rules = rules_of(options.get("codec_rules")) or []

    def ruled(self, parameter: str, dtype: torch.dtype, op: ReduceOp) -> str:
        """The codec that a rule has for the parameter; "" where none fits, or the codec does not
        suit the tensor: then the engine does as its options say."""
        codec = next((codec for fits, codec in self.rules if fits(parameter)), "")
        if codec in _BY_ELEMENT:
            return codec if dtype in _WIDE else ""
        suits = op in (ReduceOp.Average, ReduceOp.Sum) and dtype in _WIDE + _NARROW
        return codec if suits else ""


def check_compression(compression: Any) -> None:
    """Raises InvalidArgument for what is no compression, with what is wrong and where."""
    rules = rules_of(compression)
    if rules is not None:
        for _, codec in rules:
            _core.canonical_codec(codec)
    elif isinstance(compression, str):
        _core.canonical_codec(compression)
    elif codec_for(compression, torch.float32) is None:
        compressor_of(compression)


def _fits(pattern: str) -> Any:
    # As the engine's rules: brackets are characters like others.
    return re.compile(fnmatch.translate(pattern.replace("[", "[[]"))).match


def compressor_of(compression: AnyCompression) -> Any:
    """The object whose compress() and decompress() to call, when codec_for() returned None."""
    if isinstance(compression, str):
        if compression not in _BY_NAME:
            raise InvalidArgument(f"compression is {compression!r}, which is for allreduce alone; "
                                  "give Compression.none, fp16 or bf16, or a compressor of your "
                                  "own")
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
