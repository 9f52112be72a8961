#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What one oversleep of one rank's engine does to the other ranks, under each pacing of the papers.

Every case runs bench_pacing on --ranks ranks of this machine, in turn, --rounds times: steps, then
one in which the engine's thread of the last rank is held for --late-ms beyond its cycle, then as
many steps again. Examples:
  bench/pacing.py
  bench/pacing.py --compute work            # compute needs the cores that engines spin on
  bench/pacing.py --cases cycle,scp --cpu-sets 0.25 --json pacing.json

"spinning" is the share of its time that the engine's thread of another rank than the late one spent
spinning (spinning_s of stats()), "engine cpu" the share of a core that it used. Each is the median
of the rounds with their 90th percentile; step times are those of all steps. topo paces nothing: it
runs without rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = {
    "cycle": {"UNISONO_ORDER": "cache", "UNISONO_PACING": "cycle"},
    "gs": {"UNISONO_ORDER": "cache", "UNISONO_PACING": "gs"},
    "nbcs": {"UNISONO_ORDER": "cache", "UNISONO_PACING": "nbcs"},
    "scp": {"UNISONO_ORDER": "cache", "UNISONO_PACING": "cycle", "UNISONO_BIND_COMPUTE": "1"},
    "topo": {"UNISONO_ORDER": "topo", "UNISONO_PACING": "event"},
    "event": {"UNISONO_ORDER": "cache", "UNISONO_PACING": "event"},
}


def p90(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, (9 * len(ordered)) // 10)]


def processor() -> str:
    found = subprocess.run(["lscpu"], capture_output=True, text=True).stdout
    name = re.search(r"Model name:\s*(.+)", found)
    return name.group(1).strip() if name else platform.machine()


def run(case: str, args: argparse.Namespace, work_per_ms: float) -> list[dict]:
    environment = {**os.environ, **CASES[case], "UNISONO_CYCLE_MS": str(args.cycle_ms)}
    if case == "scp":
        environment["UNISONO_CPU_SETS"] = args.cpu_sets
    done = subprocess.run(
        [args.unisono, "run", "-np", str(args.ranks), args.program,
         str(args.cycle_ms + args.late_ms), str(args.compute_ms), str(work_per_ms),
         str(args.steps)],
        env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{case}: {done.stderr.strip()}")
    return [json.loads(line[line.index("{"):]) for line in done.stdout.splitlines() if "{" in line]


class Found:
    """What all rounds of a case have shown of the ranks that were not late."""

    def __init__(self) -> None:
        self.shares: dict[str, list[float]] = {}
        self.steps: dict[str, list[float]] = {"before": [], "after": []}
        self.messages: list[float] = []
        self.placement = ""

    def add(self, ranks: list[dict]) -> None:
        others = [rank for rank in ranks if not rank["late"]]
        for when in ("before", "after"):
            for what in ("spinning", "engine_cpu"):
                worst = max(rank[when][what] for rank in others)
                self.shares.setdefault(f"{what} {when}", []).append(worst)
            self.steps[when] += others[0][when]["step_ms"]
        self.messages.append(sum(rank["after"]["messages_per_step"] for rank in ranks))
        self.placement = others[0]["placement"]

    def cell(self, key: str) -> str:
        values = [100 * value for value in self.shares[key]]
        return f"{statistics.median(values):.1f} ({p90(values):.1f})"

    def step(self, when: str) -> str:
        return f"{statistics.median(self.steps[when]):.2f} ({p90(self.steps[when]):.2f})"


def table(found: dict[str, Found]) -> str:
    lines = ["| pacing | spinning before, % | spinning after, % | engine cpu after, % | "
             "step before, ms | step after, ms | control messages per step |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for case, seen in found.items():
        if case == "scp" and seen.placement.startswith("no CPU sets"):
            lines.append(f"| {case} | not here: {seen.placement.partition(';')[0]} | | | | | |")
            continue
        lines.append(f"| {case} | {seen.cell('spinning before')} | {seen.cell('spinning after')} | "
                     f"{seen.cell('engine_cpu after')} | {seen.step('before')} | "
                     f"{seen.step('after')} | {statistics.median(seen.messages):.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="cycle,gs,nbcs,scp,topo")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40, help="before the oversleep, and after it")
    parser.add_argument("--cycle-ms", type=float, default=5)
    parser.add_argument("--late-ms", type=float, default=10)
    parser.add_argument("--compute-ms", type=float, default=24)
    parser.add_argument("--compute", choices=("sleep", "work"), default="sleep",
                        help="as on a device, or on the cores that the engines use, too")
    parser.add_argument("--cpu-sets", default="0.25", help="of the case scp")
    parser.add_argument("--json", help="where to write everything that was measured")
    parser.add_argument("--unisono", default=str(ROOT / "build/release/tools/unisono"))
    parser.add_argument("--program", default=str(ROOT / "build/release/bench/bench_pacing"))
    args = parser.parse_args()
    cases = args.cases.split(",")
    if unknown := [case for case in cases if case not in CASES]:
        parser.error(f"there is no case {unknown[0]}; the cases are {', '.join(CASES)}")
    work_per_ms = 0.0
    if args.compute == "work":
        work_per_ms = float(subprocess.run([args.program, "calibrate"], check=True, text=True,
                                           capture_output=True).stdout)
    found = {case: Found() for case in cases}
    for _ in range(args.rounds):
        for case in cases:
            found[case].add(run(case, args, work_per_ms))
    version = (ROOT / "VERSION").read_text().strip()
    print(f"unisono {version}, {args.ranks} ranks on {len(os.sched_getaffinity(0))} CPUs "
          f"({processor()}, {platform.machine()}), Linux {platform.release()}; cycle "
          f"{args.cycle_ms:g} ms, one oversleep of {args.late_ms:g} ms, compute "
          f"{args.compute_ms:g} ms ({args.compute}); medians of {args.rounds} rounds of "
          f"{args.steps} steps (90th percentile)\n")
    print(table(found))
    if args.json:
        with open(args.json, "w") as file:
            json.dump({case: vars(seen) for case, seen in found.items()}, file, indent=1)


if __name__ == "__main__":
    main()
