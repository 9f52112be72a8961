#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How long the next forward pass waits for gradients, with schedules of DistributedOptimizer beside
the optimizer without one.

Two hosts, one rank each, are network namespaces with wires shaped to --rate; a job for each variant in
turn, --rounds times. The model is a row of linear layers, the first ones the largest. Needs root.
  bench/priority.py
  bench/priority.py --batch 64 --json priority.json

"stall" is what a rank waits for gradients between the end of backward() and the end of the next
forward pass: inside of step(), or before single layers. "step" is a whole step, all of both ranks.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNISONO = ROOT / ".venv" / "bin" / "unisono"
# Of each variant, the planner of the job and the schedule of the optimizer.
VARIANTS = {"merged": ("merged", None), "priority": ("priority", "priority"),
            "two-phase": ("merged", "two-phase")}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="1gbit", help="of the wires, as tc writes it")
    parser.add_argument("--widths", default="2048,2048,2048,1024,1024,512,512,256",
                        help="of the layers, the input's first")
    parser.add_argument("--batch", type=int, default=256, help="rows of each rank")
    parser.add_argument("--steps", type=int, default=10, help="that are measured in one job")
    parser.add_argument("--warm", type=int, default=14, help="steps before these")
    parser.add_argument("--rounds", type=int, default=3, help="jobs of each variant, in turn")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rank-of", choices=list(VARIANTS), help=argparse.SUPPRESS)
    return parser.parse_args()


def rank_main(given: argparse.Namespace) -> None:
    import torch

    import unisono.torch as hvd
    from unisono.handle import Handle

    torch.set_num_threads(1)
    planner, schedule = VARIANTS[given.rank_of]
    hvd.init(planner=planner)
    torch.manual_seed(0)
    widths = [int(width) for width in given.widths.split(",")]
    net = torch.nn.Sequential(*[each for before, after in zip(widths, widths[1:])
                                for each in (torch.nn.Linear(before, after), torch.nn.ReLU())])
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9), net.named_parameters(),
        schedule=schedule)
    waited = 0.0
    wait = Handle.wait

    def timed_wait(self: Handle, timeout: float | None = None) -> object:
        nonlocal waited
        began = time.perf_counter()
        try:
            return wait(self, timeout)
        finally:
            waited += time.perf_counter() - began

    Handle.wait = timed_wait  # type: ignore[method-assign]
    data = torch.randn(given.batch, widths[0])
    loss = net(data).square().mean()
    for turn in range(given.warm + given.steps):
        began = time.perf_counter()
        optimizer.zero_grad()
        loss.backward()
        waited = 0.0
        after_backward = time.perf_counter()
        optimizer.step()
        optimizer.zero_grad()
        loss = net(data).square().mean()
        ended = time.perf_counter()
        if turn >= given.warm:
            print(json.dumps({"stall_s": waited, "step_s": ended - began,
                              "backward_s": after_backward - began,
                              "after_s": ended - after_backward, "rank": hvd.rank(),
                              "torch": torch.__version__}), flush=True)
    print("order", json.dumps(hvd.stats()["order"]), file=sys.stderr, flush=True)
    if schedule:
        optimizer.synchronize()
    hvd.barrier()  # a rank that leaves ends the others' plans
    hvd.shutdown()


def measure(given: argparse.Namespace, inside: list[list[str]], shell: str,
            variant: str) -> list[dict[str, float]]:
    import hosts
    where = ",".join(f"{hosts.address(host)}:1" for host in range(2))
    line = [*inside[0], str(UNISONO), "run", "-np", "2", "-H", where, "--rsh", shell, "--no-prefix",
            sys.executable, str(pathlib.Path(__file__).resolve()), "--rank-of", variant,
            "--widths", given.widths, "--batch", str(given.batch), "--steps", str(given.steps),
            "--warm", str(given.warm)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    rows = [json.loads(row) for row in done.stdout.splitlines() if row.startswith("{")]
    if done.returncode != 0 or len(rows) != 2 * given.steps:
        sys.exit(f"{variant}: {len(rows)} rows came back: {done.stdout[-500:]}{done.stderr[-2000:]}")
    plans = [json.loads(row[6:]) for row in done.stderr.splitlines() if row.startswith("order ")]
    print(f"{variant}: planned {plans[0]['planned']}, {plans[0]['reason']}", flush=True)
    return rows


def shown(values: list[float]) -> str:
    return f"{1e3 * statistics.median(values):8.1f} {1e3 * sorted(values)[int(0.9 * len(values))]:8.1f}"


def report(given: argparse.Namespace, rows: dict[str, list[dict[str, float]]]) -> list[dict]:
    print(f"{'variant':>10} {'stall ms':>8} {'p90':>8} {'step ms':>8} {'p90':>8}  merged's stall / "
          "this")
    results = []
    base = statistics.median(row["stall_s"] for row in rows["merged"]) if "merged" in rows else None
    for variant, found in rows.items():
        stalls, steps = [row["stall_s"] for row in found], [row["step_s"] for row in found]
        ratio = base / statistics.median(stalls) if base else None
        print(f"{variant:>10} {shown(stalls)} {shown(steps)}  "
              f"{'' if ratio is None else f'{ratio:.2f}x'}", flush=True)
        results.append({"variant": variant, "stall_s": statistics.median(stalls),
                        "step_s": statistics.median(steps), "ratio": ratio, "rows": found})
    return results


def main() -> None:
    given = arguments()
    if given.rank_of:
        rank_main(given)
        return
    import hosts
    # What has been measured is reported, and the namespaces are deleted.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"
    widths = [int(width) for width in given.widths.split(",")]
    count = sum(before * after + after for before, after in zip(widths, widths[1:]))
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in given.variants.split(",")}
    with hosts.joined(given.rate, 2) as inside, tempfile.TemporaryDirectory() as folder:
        if not inside:
            sys.exit("network namespaces cannot be made here; run as root, with ip and tc")
        shell = hosts.remote_shell(inside, folder)
        try:
            for turn in range(given.rounds):
                for variant in rows:
                    if sys.stderr.isatty():
                        print(f"\rround {turn + 1} of {given.rounds}: {variant}   ", end="",
                              file=sys.stderr, flush=True)
                    rows[variant] += measure(given, inside, shell, variant)
        except KeyboardInterrupt:
            if not all(rows.values()):
                raise
            print(f"broken off in round {turn + 1}", flush=True)
    versions = f"torch {next(iter(rows.values()))[0]['torch']}, Python {platform.python_version()}"
    print(f"widths {given.widths} ({count / 1e6:.1f} M parameters), batch {given.batch}, 2 hosts, "
          f"{given.rate}; {machine}; {versions}")
    results = report(given, rows)
    if given.json:
        given.json.write_text(json.dumps({"machine": machine, "versions": versions,
                                          "command": sys.argv, "results": results}, indent=1)
                              + "\n")


if __name__ == "__main__":
    main()
