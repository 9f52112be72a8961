#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What recording a trace costs: the same steps with and without `unisono run --trace`, in turn.

A step computes in 161 pieces, as many as ResNet-50 has tensors, submits a gradient after each and
waits for all of them; the gradients have ResNet-50's 25.5 million elements together. Compute works
on the cores that engines and the writer of the trace use as well. Examples:
  bench/trace_overhead.py
  bench/trace_overhead.py --work 0 --scale 0.001     # nothing but the exchange of small tensors
  bench/trace_overhead.py --rounds 20 --json overhead.json

Printed are the median and the 90th percentile of all steps of rank 0, the processor time of all
ranks per step, and how much more each is with a trace: of all steps, and as the median over the
rounds, each of which compares its two runs, with the central half of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import pacing

ROOT = pathlib.Path(__file__).resolve().parent.parent
ELEMENTS, TENSORS, WARM_UP = 25_557_032, 161, 20
BODY = """
import json, sys, time
import numpy as np
import unisono
steps, pieces, scale = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
unisono.init()
# A third of the tensors has nearly all elements, as weights of convolutions do.
sizes = [max(1, int(scale * (%d / 54 if i %% 3 == 0 else 512))) for i in range(%d)]
gradients = [np.ones(size, np.float32) for size in sizes]
names = [f"layer{i // 3}.block.conv{i}.weight" for i in range(len(sizes))]
block = np.full((96, 96), 1e-3, np.float32)
took, cpu = [], 0.0
for step in range(steps + %d):
    if step == %d:
        cpu = time.process_time()
    begin = time.perf_counter()
    handles = []
    for name, gradient in zip(names, gradients):
        for _ in range(pieces):
            block = block @ block + 1e-3
            block /= block.max()
        handles.append(unisono.allreduce_async_(gradient, name=name))
    for handle in handles:
        handle.wait()
    took.append(time.perf_counter() - begin)
cpu = time.process_time() - cpu
print(json.dumps({"rank": unisono.rank(), "took": took[%d:], "cpu": cpu / steps}), flush=True)
unisono.shutdown()
""" % (ELEMENTS, TENSORS, WARM_UP, WARM_UP, WARM_UP)


def run(args: argparse.Namespace, trace: pathlib.Path | None) -> tuple[list[float], float]:
    """The times of rank 0's steps, and the processor time of all ranks for a step."""
    line = [args.unisono, "run", "-np", str(args.ranks)]
    line += [] if trace is None else ["--trace", str(trace)]
    line += [args.python, "-c", BODY, str(args.steps), str(args.work), str(args.scale)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(line, env={**os.environ, **threads}, capture_output=True, text=True,
                          timeout=300)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    told = [json.loads(line[line.index("{"):]) for line in done.stdout.splitlines() if "{" in line]
    took = next(rank["took"] for rank in told if rank["rank"] == 0)
    return took, sum(rank["cpu"] for rank in told)


def line_of(what: str, without: list[float], traced: list[float]) -> str:
    a, b = statistics.median(without), statistics.median(traced)
    return f"| {what} | {a * 1e3:.2f} ms | {b * 1e3:.2f} ms | {100 * (b / a - 1):+.2f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--work", type=int, default=6, help="products of matrices per tensor")
    parser.add_argument("--scale", type=float, default=1, help="of the tensors' sizes")
    parser.add_argument("--json", help="where to write everything that was measured")
    parser.add_argument("--unisono", default=str(ROOT / ".venv/bin/unisono"))
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"))
    args = parser.parse_args()
    took: dict[bool, list[list[float]]] = {False: [], True: []}
    cpu: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(args.rounds):
            # Who comes first changes, so that a drift of the machine speaks for nobody.
            for traced in (False, True) if turn % 2 == 0 else (True, False):
                trace = pathlib.Path(folder) / f"run{turn}.json" if traced else None
                steps, used = run(args, trace)
                took[traced].append(steps)
                cpu[traced].append(used)
    pooled = {traced: [step for steps in took[traced] for step in steps] for traced in took}
    pairs = sorted(statistics.median(b) / statistics.median(a) - 1
                   for a, b in zip(took[False], took[True]))
    quarter = len(pairs) // 4
    version = (ROOT / "VERSION").read_text().strip()
    print(f"unisono {version}, {args.ranks} ranks on {len(os.sched_getaffinity(0))} CPUs "
          f"({pacing.processor()}, {platform.machine()}), Linux {platform.release()}; "
          f"{args.rounds} rounds of {args.steps} steps, {args.work} products per tensor, sizes x "
          f"{args.scale:g}\n")
    print("| | without | with a trace | more |\n| --- | --- | --- | --- |")
    print(line_of("step, median", pooled[False], pooled[True]))
    print(line_of("step, 90th percentile", [pacing.p90(pooled[False])], [pacing.p90(pooled[True])]))
    print(line_of("processor time of all ranks per step", cpu[False], cpu[True]))
    print(f"| median step, round by round | | | {100 * statistics.median(pairs):+.2f} % "
          f"({100 * pairs[quarter]:+.2f} to {100 * pairs[-1 - quarter]:+.2f}) |")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"without": took[False], "with": took[True], "cpu_without": cpu[False],
                       "cpu_with": cpu[True]}, file)


if __name__ == "__main__":
    main()
