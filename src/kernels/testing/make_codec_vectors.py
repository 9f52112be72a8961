# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Writes codec_vectors.hpp beside this file: what quantising and picking must give, bit for bit, on
every CPU and device. Computed here by NumPy, apart from the kernels that are tested with it.

    python3 src/kernels/testing/make_codec_vectors.py        (with clang-format in reach)
"""

import pathlib
import subprocess

import numpy as np

COUNT = 1100  # elements: a whole bucket of 1024 and a shorter one
FIRST = 8 * ((1 << 32) - 128)  # the whole bucket ends where the low word of the counter wraps
KEY = {"seed": 0x01234567, "tensor": 0x89ABCDEF, "owner": 3, "step": 70000}
F32 = np.float32
WORD = 0xFFFFFFFF


def input_bits(i: int) -> int:
    """Of exponents 121 to 128 and any sign; every eighth is a zero or a denormal."""
    h = (i * 2654435761 + 12345) & WORD
    h ^= h >> 15
    h = (h * 2246822519) & WORD
    h ^= h >> 13
    if i % 8 == 5:
        return (h & 0x80000000) | (h & 0xFF if i % 16 == 5 else 0)
    return (h & 0x807FFFFF) | ((121 + ((h >> 23) & 7)) << 23)


def values() -> np.ndarray:
    return np.array([input_bits(i) for i in range(COUNT)], np.uint32).view(F32)


def philox(counter: list[int], key: list[int]) -> list[int]:
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & WORD, (a >> 32) ^ c[3] ^ k[1], a & WORD]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


def uniform(element: int) -> F32:
    block = element // 8
    words = philox([block & WORD, block >> 32, KEY["owner"], KEY["step"]],
                   [KEY["seed"], KEY["tensor"]])
    word = words[element % 8 // 2]
    return F32(((word >> 16 if element % 2 else word & 0xFFFF) + 0.5) / 65536)


def quantised(bits: int, random: bool) -> tuple[list[int], bytes]:
    levels = F32((1 << (bits - 1)) - 1)
    data, scales, codes = values(), [], []
    for begin in range(0, COUNT, 1024):
        bucket = data[begin:begin + 1024]
        scale = np.abs(bucket).max()
        inverse = F32(levels / scale)
        scales.append(int(scale.view(np.uint32)))
        for i, value in enumerate(bucket):
            x = F32(value * inverse)
            if random:
                codes.append(int(np.floor(np.clip(F32(x + uniform(FIRST + begin + i)), -levels,
                                                  levels))))
            else:
                codes.append(int(np.rint(np.clip(x, -levels, levels))))
    packed = 0
    for i, code in enumerate(codes):
        packed |= (code & ((1 << bits) - 1)) << (bits * i)
    return scales, packed.to_bytes((COUNT * bits + 7) // 8, "little")


def largest(data: np.ndarray, k: int) -> list[int]:
    magnitudes = data.view(np.uint32) & 0x7FFFFFFF
    order = sorted(range(len(data)), key=lambda i: (-int(magnitudes[i]), i))
    return sorted(order[:k])


def top_of_buckets(bucket: int, k: int) -> list[int]:
    data, out = values(), []
    for begin in range(0, COUNT, bucket):
        length = min(bucket, COUNT - begin)
        out += [begin + i for i in largest(data[begin:begin + length], -(-k * length // bucket))]
    return out


def text(data: bytes) -> str:
    lines = [data[i:i + 44].hex() for i in range(0, len(data), 44)]
    return "\n    ".join(f'"{line}"' for line in lines)


def header() -> str:
    lines = ["""// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What quantising and picking must give, bit for bit, on every CPU and device. Written by
// make_codec_vectors.py, which computes it apart from all kernels; plain data, so that any compiler
// may include it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unisono::kernels::vectors {
"""]
    lines.append(f"inline constexpr std::size_t kCount = {COUNT};  // elements")
    lines.append(f"inline constexpr std::uint64_t kFirst = {FIRST}ull;  // index of the first")
    for name, value in KEY.items():
        lines.append(f"inline constexpr std::uint32_t k{name.capitalize()} = {value}u;")
    lines.append("""
// The bits of element i.
constexpr std::uint32_t input_bits(std::uint32_t i) {
  std::uint32_t h = i * 2654435761u + 12345u;
  h ^= h >> 15;
  h *= 2246822519u;
  h ^= h >> 13;
  if (i % 8 == 5) return (h & 0x80000000u) | (i % 16 == 5 ? h & 0xFFu : 0u);
  return (h & 0x807FFFFFu) | (121u + ((h >> 23) & 7u)) << 23;
}

struct QuantisedVector {
  int bits;
  bool random;
  const char* codes;  // hexadecimal, bytes in order
};
inline constexpr QuantisedVector kQuantised[] = {""")
    for bits in (2, 4, 8):
        for random in (True, False):
            scales, codes = quantised(bits, random)
            lines.append(f"    {{{bits}, {str(random).lower()},\n    {text(codes)}}},")
    lines.append("};\n// Of the two buckets, whatever the bits of a code are.")
    lines.append(f"inline constexpr std::uint32_t kScales[] = {{{scales[0]}u, {scales[1]}u}};\n")
    lines.append("// Indices of the 4 largest of every 512 elements, and of the 20 largest of all.")
    for name, indices in (("kTopOfBuckets", top_of_buckets(512, 4)),
                          ("kLargest", largest(values(), 20))):
        lines.append(f"inline constexpr std::uint32_t {name}[] = "
                     f"{{{', '.join(map(str, indices))}}};")
    lines.append("\n}  // namespace unisono::kernels::vectors\n")
    return "\n".join(lines)


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_name("codec_vectors.hpp")
    path.write_text(header())
    subprocess.run(["clang-format", "-i", str(path)], check=True)
