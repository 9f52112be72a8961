# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Closed forms of sparse sums whose indices follow Zipf's law, as `unisono opt generate` draws
them: how many elements ranks have, what they send, and how long that takes on a network."""

from __future__ import annotations

import math
from typing import NamedTuple

BLOCK = 65_536       # indices that a block of the wire format covers
REDUCE = 2e8         # pairs a second that a core adds up (docs/COMPRESSION.md, "What it costs")
ADD = 20e9           # bytes a second of a dense sum


class Shape(NamedTuple):
    features: int
    entries: int     # of a row


class Network(NamedTuple):
    name: str
    latency: float   # seconds of a message
    rate: float      # bytes a second that a host sends


SHAPES = {"url": Shape(3_231_961, 116), "webspam": Shape(16_609_143, 3_730)}
NETWORKS = [Network("1 Gbit/s", 50e-6, 0.125e9), Network("10 Gbit/s", 20e-6, 1.25e9),
            Network("100 Gbit/s", 5e-6, 12.5e9), Network("400 Gbit/s", 3e-6, 50e9)]


def distinct(shape: Shape, rows: int, first: int = 0, end: int | None = None) -> float:
    """How many columns in a range some rows have at least once. Column k has the probability
    log(1 + 1/k) over log(features + 1); ranges of columns that are alike are taken together."""
    end = shape.features if end is None else end
    draws, whole, count, at = rows * shape.entries, math.log(shape.features + 1), 0.0, first
    while at < end:
        wide = min(max(1, at // 64), end - at)
        chance = math.log((at + wide + 1) / (at + 1)) / whole / wide
        count += wide * -math.expm1(-draws * chance)
        at += wide
    return count


def stream(length: int, count: float) -> float:
    """Bytes of the shortest form of float32."""
    return 48 + min(8 * count, 4 * math.ceil(length / BLOCK) + 6 * count,
                    length / 8 + 4 * count, 4 * length)


def dense_ring(shape: Shape, hosts: int, network: Network) -> tuple[float, float]:
    """Bytes sent by a host and seconds; so for all below."""
    sent = 2 * (hosts - 1) / hosts * 4 * shape.features
    return sent, 2 * (hosts - 1) * network.latency + sent / network.rate + sent / 2 / ADD


def recursive_double(shape: Shape, rows: int, hosts: int, network: Network) -> tuple[float, float]:
    sent = seconds = 0.0
    for done in range(round(math.log2(hosts))):
        count = distinct(shape, rows * 2 ** done)
        one = stream(shape.features, count)
        sent += one
        seconds += network.latency + one / network.rate + 2 * count / REDUCE
    return sent, seconds


def split(shape: Shape, rows: int, hosts: int, network: Network,
          balanced: bool) -> tuple[float, float]:
    """The slowest host's: with slices of equally many indices the first has most elements."""
    mine, union = distinct(shape, rows), distinct(shape, rows * hosts)
    slice_ = shape.features // hosts
    owned = union / hosts if balanced else distinct(shape, rows * hosts, 0, slice_)
    given = mine / hosts if balanced else distinct(shape, rows, 0, slice_)
    first = (hosts - 1) * stream(slice_, mine / hosts)
    second = (hosts - 1) * stream(slice_, owned)
    work = ((hosts - 1) * given + owned) / REDUCE + union / REDUCE
    arrives = max(first, (hosts - 1) * stream(slice_, given))  # of what all send to one owner
    return first + second, (2 * (hosts - 1) * network.latency
                            + (arrives + second) / network.rate + work)


def print_predictions(rows: int) -> None:
    print(f"{rows:,} rows of a rank in a step. How many times as much a dense ring sends / as long "
          "it takes:")
    for name, shape in SHAPES.items():
        for hosts in (8, 32):
            print(f"{name}, {hosts} hosts: {distinct(shape, rows):,.0f} columns on each, "
                  f"{distinct(shape, rows * hosts):,.0f} in the sum "
                  f"({100 * distinct(shape, rows * hosts) / shape.features:.1f} %)")
            for network in NETWORKS:
                ring = dense_ring(shape, hosts, network)
                line = f"  {network.name:>10}: dense ring {1e3 * ring[1]:8.2f} ms"
                for title, found in (
                        ("recursive doubling", recursive_double(shape, rows, hosts, network)),
                        ("split", split(shape, rows, hosts, network, balanced=False)),
                        ("balanced split", split(shape, rows, hosts, network, balanced=True))):
                    line += f" | {title} {ring[0] / found[0]:5.1f} / {ring[1] / found[1]:5.1f}"
                print(line)
