#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What sums of sparse vectors take between hosts by each algorithm, what they send, and what the
closed forms make of both; beside them the same vectors as dense ones.

Hosts are network namespaces with wires shaped to a rate. For every rate, number of hosts, density and
support one job runs `unisono bench sparse`, in which all algorithms take turns. Where
UNISONO_PEER_OPENMPI_PYTHON names a Python with mpi4py, Open MPI's dense allreduce of the same vector
runs on the same wires, before and after. Needs root. Examples:
  bench/sparse.py
  bench/sparse.py --hosts 8 --rates 100mbit --length 1048576
  bench/sparse.py --hosts 2 --algorithm ssar_split_allgather,auto --support all --json sparse.json

"bytes" is how many times as much a dense ring sends, by the closed forms with expected counts;
"model" how many times as long it should take, by what the engines measured while they joined (messages
of up to 1 MiB, of which the shaper lets 128 KiB through at once); "measured" how many times as long
it took.
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

import hosts

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNISONO = pathlib.Path(os.environ.get("UNISONO_BIN", ROOT / ".venv" / "bin" / "unisono"))
OPENMPI_PYTHON = os.environ.get("UNISONO_PEER_OPENMPI_PYTHON")
OPENMPI = """
import sys, time, numpy as np
from mpi4py import MPI
world, length, times = MPI.COMM_WORLD, int(sys.argv[1]), int(sys.argv[2])
data, out = np.ones(length, np.float32), np.zeros(length, np.float32)
for turn in range(times + 1):
    world.Barrier()
    begin = time.perf_counter()
    world.Allreduce(data, out)
    took = world.allreduce(time.perf_counter() - begin, op=MPI.MAX)
    assert (out == world.size).all()
    if turn > 0 and world.rank == 0:
        print("took", took, flush=True)
"""


def measured(given: argparse.Namespace, inside: hosts.Inside, shell: str, case: dict) -> dict:
    where = ",".join(f"{hosts.address(host)}:1" for host in range(len(inside)))
    words = [*inside[0], str(UNISONO), "run", "-np", str(len(inside)), "-H", where, "--rsh", shell,
             "--no-prefix", str(UNISONO), "bench", "sparse", "--length", str(given.length),
             "--density", str(case["density"]), "--support", case["support"],
             "--algorithm", given.algorithm, "--dense", given.dense, "--integrity", given.integrity,
             "--repeat", str(given.repeat), "--iterations", str(given.iterations),
             "--warmup", str(given.warmup), "--json", "-",
             *[word for pair in given.set for word in ("--set", pair)]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode != 0:
        sys.exit(f"bench sparse, {case}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def open_mpi(given: argparse.Namespace, inside: hosts.Inside, shell: str) -> list[float]:
    """Seconds of its dense allreduce; nothing where there is none, with the reason."""
    if not OPENMPI_PYTHON:
        return []
    beside = pathlib.Path(OPENMPI_PYTHON).parent / "mpirun"
    where = ",".join(f"{hosts.address(host)}:1" for host in range(len(inside)))
    words = [*inside[0], str(beside) if beside.exists() else "mpirun", "--allow-run-as-root", "-np",
             str(len(inside)), "--host", where, "--prtemca", "plm_ssh_agent", shell, "--mca", "pml",
             "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "eth0",
             # All namespaces have one host's name, so that others would look for shared memory.
             "--mca", "coll", "tuned,basic,libnbc,self,inter", OPENMPI_PYTHON, "-c",
             f"exec({OPENMPI!r})", str(given.length), str(given.repeat)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=given.peer_timeout,
                              check=False)
        said, code = done.stdout, done.returncode
        why = done.stderr.strip()[-300:]
    except subprocess.TimeoutExpired as late:
        said, code, why = (late.stdout or b"").decode(), 1, f"no end after {given.peer_timeout} s"
    took = [float(line.split()[1]) for line in said.splitlines() if line.startswith("took")]
    if code != 0 or not took:
        print(f"  Open MPI: {why}", file=sys.stderr)
        return []
    return took


def print_rows(found: dict, peer: list[float]) -> None:
    rows = [row for row in found["results"] if "median_us" in row]
    ring = next((row for row in rows if row["collective"] == "allreduce"
                 and row["algorithm"] == "ring"), None)
    for row in rows:
        name = f"{'dense ' if row['collective'] == 'allreduce' else ''}{row['algorithm']}"
        if row["ran"] not in ("", row["algorithm"].split("+")[0]):
            name += f" ({row['ran']})"
        by_bytes = by_model = "     -"
        if ring and row["predicted_bytes"]:
            by_bytes = f"{ring['predicted_bytes'] / row['predicted_bytes']:6.2f}"
            by_model = f"{ring['predicted_us'] / row['predicted_us']:6.2f}"
        print(f"  {name:>40} {row['median_us'] / 1e3:9.2f} ms, p90 {row['p90_us'] / 1e3:9.2f} | sent "
              f"{row['data_bytes'] / 1e6:8.3f} MB, form {row['predicted_bytes'] / 1e6:8.3f}, counted "
              f"{row['counted_bytes'] / 1e6:8.3f} | over the dense ring: bytes {by_bytes}x, model "
              f"{by_model}x, measured {row.get('over_dense', float('nan')):6.2f}x"
              f"{'  lossy' if row['lossy'] else ''}", flush=True)
    for row in found["results"]:
        if "refused" in row:
            print(f"  {row['algorithm']:>40} not measured: {row['refused']}")
    if peer:
        middle = statistics.median(peer)
        beside = f", {ring['median_us'] / 1e6 / middle:.2f} of our ring" if ring else ""
        print(f"  {'Open MPI, dense':>40} {middle * 1e3:9.2f} ms{beside}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="8", help="with one rank each")
    parser.add_argument("--rates", default="1gbit,100mbit", help="of the wires, as tc writes them")
    parser.add_argument("--length", type=int, default=1 << 24, help="elements of the vector")
    parser.add_argument("--density", default="0.0078125")
    parser.add_argument("--support", default="uniform",
                        help="uniform, zipf, identical, disjoint, or all")
    parser.add_argument("--algorithm", default="all")
    parser.add_argument("--dense", default="ring", help="algorithms of the dense allreduce beside")
    parser.add_argument("--integrity", default="plain")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=1, help="calls in one turn")
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--peer-timeout", type=float, default=300, help="seconds for Open MPI")
    parser.add_argument("--set", action="append", default=[], help="an option as key=value")
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    if given.support == "all":
        given.support = "uniform,zipf,identical,disjoint"
    return given


def main() -> None:
    given = arguments()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"
    print(machine)
    rows: list[dict] = []
    for rate in given.rates.split(","):
        for count in map(int, given.hosts.split(",")):
            with hosts.joined(rate, count) as inside, \
                    tempfile.TemporaryDirectory() as folder:
                if not inside:
                    sys.exit("network namespaces cannot be made here; run as root, with ip and tc")
                shell = hosts.remote_shell(inside, folder)
                peer = open_mpi(given, inside, shell)
                for support in given.support.split(","):
                    for density in map(float, given.density.split(",")):
                        case = {"hosts": count, "rate": rate, "density": density, "support": support}
                        found = measured(given, inside, shell, case)
                        first = found["results"][0]
                        print(f"{count} hosts, {rate}, {given.length} x fp32, {support} "
                              f"{100 * density:g} %: {first['nnz']} elements each, "
                              f"{100 * first['fill_in']:.2f} % in the sum, expected "
                              f"{100 * first['expected_fill_in']:.2f} %", flush=True)
                        print_rows(found, peer)
                        rows += [{**case, **row} for row in found["results"]]
                peer += open_mpi(given, inside, shell)
                rows += [{"hosts": count, "rate": rate, "impl": "openmpi", "collective": "allreduce",
                          "bytes": 4 * given.length, "median_us": statistics.median(peer) * 1e6,
                          "repetitions": len(peer), "checked": True}] if peer else []
    if given.json:
        given.json.write_text(json.dumps({"machine": machine, "command": sys.argv,
                                          "results": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
