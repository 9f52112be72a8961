#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How long after SIGKILL of one rank the last survivor has its error, over many kills.

    python bench/kill_latency.py [--kills 1000] [--ranks 8] [--json kill_latency.json]

Each kill is a fresh job of processes in the middle of allreduces; the victim and the moment are
random. Blame, sums and untouched tensors are checked every time.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "faults"))

import harness  # noqa: E402


def quantile(ordered: list[float], q: float) -> float:
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def show_progress(transport: str, done: int, total: int, worst_ms: float) -> None:
    if not sys.stderr.isatty() and done % max(total // 20, 1) and done != total:
        return
    bar = "#" * (30 * done // total)
    end = "\n" if done == total or not sys.stderr.isatty() else "\r"
    print(f"{transport} [{bar:<30}] {done}/{total}, slowest {worst_ms:.1f} ms", end=end,
          file=sys.stderr, flush=True)


def measure(transport: str, arguments: argparse.Namespace) -> dict[str, float | int | str]:
    rng = random.Random(arguments.seed)
    last_ms: list[float] = []
    other_round = 0
    for kill in range(arguments.kills):
        latencies, errors = harness.kill_once(
            arguments.ranks, transport, rng, f"elements={arguments.elements}")
        last_ms.append(max(latencies))
        other_round += len({error["round"] for error in errors}) > 1
        show_progress(transport, kill + 1, arguments.kills, max(last_ms))
    last_ms.sort()
    return {
        "transport": transport, "kills": arguments.kills, "ranks": arguments.ranks,
        "elements": arguments.elements, "seed": arguments.seed,
        "p50_ms": quantile(last_ms, 0.5), "p90_ms": quantile(last_ms, 0.9),
        "p99_ms": quantile(last_ms, 0.99), "max_ms": last_ms[-1],
        # Kills after which some survivors had completed the collective that others saw fail.
        "rounds_differ": other_round,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--elements", type=int, default=65536, help="float32 elements a round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transport", choices=harness.TRANSPORTS, action="append")
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    arguments = parser.parse_args()
    results = []
    for transport in arguments.transport or harness.TRANSPORTS:
        result = measure(transport, arguments)
        results.append(result)
        print(f"{transport}: " + ", ".join(
            f"{key[:-3]} {result[key]:.1f} ms" for key in ("p50_ms", "p90_ms", "p99_ms", "max_ms"))
            + f" over {arguments.kills} kills of {arguments.ranks} ranks")
    if arguments.json:
        machine = {"machine": platform.machine(), "cores": len(os.sched_getaffinity(0)),
                   "kernel": platform.release()}
        arguments.json.write_text(json.dumps(machine | {"results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
