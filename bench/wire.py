#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How long an allreduce between hosts takes, how far it is from what the wire allows, and what
others take.

Hosts are network namespaces with wires shaped to --rate; every case is measured in turn, --rounds
times. Needs root. Examples:
  bench/wire.py
  bench/wire.py --hosts 4 --cases plain,auth,gloo
  bench/wire.py --hosts 8 --rate 100mbit --cases plain,gloo --json wire.json
  bench/wire.py --ranks 2 --cases ring,hierarchical,direct --bytes 1M,16M
  bench/wire.py --hosts 4 --bytes 8,64K,1M,16M --explain

The limit is 2 (h-1)/h of the bytes at the rate, for h hosts, without any header. "cpu" is what all
ranks together computed, in cores: where it comes near the cores of the machine, the hosts slow each
other down. --explain shows what was predicted for each algorithm that was tried, beside what it took,
and measures nothing else.
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
import tempfile
from typing import NamedTuple

import hosts

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNISONO = ROOT / ".venv" / "bin" / "unisono"
# Run by every rank: each operation after a barrier; rank 0 tells its times, everyone its CPU time.
BODY = """
import sys, time, numpy as np
size, times = int(sys.argv[1]), int(sys.argv[2])
WARM = 24  # in the first operations of a size algorithms may be on trial
{start}
data = np.ones(size // 4, np.float32)
for turn in range(times + WARM):
    data[:] = 1
    barrier()
    computed, begin = time.process_time(), time.perf_counter()
    allreduce(data)
    took = time.perf_counter() - begin
    computed = time.process_time() - computed
    assert (data == ranks).all()
    if turn >= WARM:
        print("took" if rank == 0 else "other", took, computed, flush=True)
{end}
"""
STARTS = {
    "unisono": ("""
import unisono
engine = unisono.Engine()
rank, ranks, barrier = engine.rank(), engine.size(), engine.barrier
def allreduce(data): engine.allreduce_(data, name="x", op=unisono.Sum)
""", "engine.shutdown()"),
    "gloo": ("""
import os, torch, torch.distributed as dist
rank, ranks = int(os.environ["UNISONO_RANK"]), int(os.environ["UNISONO_SIZE"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="tcp://MASTER:29517", rank=rank, world_size=ranks)
barrier = dist.barrier
def allreduce(data): dist.all_reduce(torch.from_numpy(data))
""", "dist.destroy_process_group()"),
}
EXPLAIN = """
import sys, numpy as np, unisono
WARM = 24
with unisono.Engine() as engine:
    for size in map(int, sys.argv[1].split(",")):
        data = np.ones(max(size // 4, 1), np.float32)
        for turn in range(WARM):
            engine.allreduce_(data, name="x", op=unisono.Max)
    if engine.rank() == 0:
        print(engine.explain())
"""
TRIAL = re.compile(r"^ +(\S+): ([\d.]+) µs predicted, ([\d.]+) µs measured", re.MULTILINE)
CASES = {
    "plain": {"UNISONO_INTEGRITY": "plain"},
    "auth": {},
    "encrypt": {"UNISONO_ENCRYPT": "1"},
}


class Job(NamedTuple):
    inside: hosts.Inside
    shell: str
    ranks: int


def body(name: str) -> str:
    start, end = STARTS[name]
    return BODY.format(start=start.replace("MASTER", hosts.address(0)), end=end)


def bytes_of(text: str) -> int:
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1].upper(), 1)
    return int(text[:-1] if factor > 1 else text) * factor


def unisono_line(job: Job) -> list[str]:
    where = ",".join(f"{hosts.address(host)}:{job.ranks}" for host in range(len(job.inside)))
    return [str(UNISONO), "run", "-np", str(job.ranks * len(job.inside)), "-H", where, "--rsh",
            job.shell, "--no-prefix", sys.executable]


def measure(job: Job, case: str, size: int, times: int) -> tuple[list[float], list[float]]:
    """The times of rank 0, and the CPU time of all ranks for the same operations."""
    if case == "gloo":
        # The launcher alone is unisono's; its variables tell the ranks who they are.
        script, options = body("gloo"), {"GLOO_SOCKET_IFNAME": "eth0"}
    else:
        # A case that is no way to guard frames is an algorithm.
        script, options = body("unisono"), CASES.get(case, {"UNISONO_ALGORITHM": case})
    done = subprocess.run([*job.inside[0], *unisono_line(job), "-c", script, str(size), str(times)],
                          env={**os.environ, **options}, capture_output=True, text=True,
                          timeout=900, check=False)
    if done.returncode != 0:
        sys.exit(f"{case}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    rows = [row.split() for row in done.stdout.splitlines() if row.startswith(("took", "other"))]
    if len(rows) != times * job.ranks * len(job.inside):
        sys.exit(f"{case}: only {len(rows)} times came back: {done.stderr[-2000:]}")
    return ([float(row[1]) for row in rows if row[0] == "took"], [float(row[2]) for row in rows])


def explain(given: argparse.Namespace, job: Job) -> list[dict[str, object]]:
    sizes = ",".join(str(bytes_of(text)) for text in given.bytes.split(","))
    done = subprocess.run([*job.inside[0], *unisono_line(job), "-c", EXPLAIN, sizes],
                          capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        sys.exit(f"explain: {done.stderr[-2000:]}")
    print(done.stdout, end="")
    rows = [{"algorithm": name, "predicted_us": float(predicted), "measured_us": float(measured)}
            for name, predicted, measured in TRIAL.findall(done.stdout)]
    errors = [abs(row["predicted_us"] / row["measured_us"] - 1) for row in rows]
    if errors:
        print(f"predictions are off by {100 * statistics.median(errors):.0f} % in the median, "
              f"{100 * sorted(errors)[int(len(errors) * 0.9)]:.0f} % at p90, of {len(errors)}")
    return rows


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=1, help="of each host")
    parser.add_argument("--rate", default="1gbit", help="of the wires, as tc writes it")
    parser.add_argument("--ports", action="store_true",
                        help="more than two hosts: the switch limits what comes to each of them, too")
    parser.add_argument("--bytes", default="16M")
    parser.add_argument("--cases", default="auto",
                        help=f"algorithms, or {', '.join([*CASES, 'gloo'])}")
    parser.add_argument("--times", type=int, default=5, help="in one job")
    parser.add_argument("--rounds", type=int, default=3, help="jobs of each case, in turn")
    parser.add_argument("--explain", action="store_true", help="what was predicted, and what it took")
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    if given.hosts < 2:
        parser.error("--hosts: at least 2")
    return given


def measure_all(given: argparse.Namespace, job: Job) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for text in given.bytes.split(","):
        size = bytes_of(text)
        limit = 2 * (given.hosts - 1) / given.hosts * size * 8 / hosts.bits_per_s(given.rate)
        took: dict[str, list[float]] = {case: [] for case in given.cases.split(",")}
        computed: dict[str, float] = dict.fromkeys(took, 0.0)
        for turn in range(given.rounds):
            for case in took:
                if sys.stderr.isatty():
                    print(f"\r{text} round {turn + 1} of {given.rounds}: {case}   ",
                          end="", file=sys.stderr, flush=True)
                times, cpu = measure(job, case, size, given.times)
                took[case] += times
                computed[case] += sum(cpu)
        for case, found in took.items():
            middle, slow = statistics.median(found), sorted(found)[int(len(found) * 0.9)]
            cores = computed[case] / sum(found)
            rows.append({"hosts": given.hosts, "ranks": given.ranks, "rate": given.rate,
                         "bytes": size, "case": case, "median_s": middle, "p90_s": slow,
                         "limit_s": limit, "of_limit": limit / middle, "cpu_cores": cores})
            print(f"{text:>6} {case:>20} {middle * 1e3:9.2f} ms, p90 {slow * 1e3:9.2f}, "
                  f"{100 * limit / middle:5.1f} % of the limit, cpu {cores:4.2f} cores", flush=True)
    return rows


def main() -> None:
    given = arguments()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"
    print(f"{given.hosts} hosts x {given.ranks} ranks, {given.rate}; {machine}")
    with hosts.joined(given.rate, given.hosts, given.ports) as inside, \
            tempfile.TemporaryDirectory() as folder:
        if not inside:
            sys.exit("network namespaces cannot be made here; run as root, with ip and tc")
        job = Job(inside, hosts.remote_shell(inside, folder), given.ranks)
        rows = explain(given, job) if given.explain else measure_all(given, job)
    if given.json:
        given.json.write_text(json.dumps({"machine": machine, "command": sys.argv,
                                          "results": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
