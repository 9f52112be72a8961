#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How long two hosts take to meet on networks that mislead (tests/launch/layouts.py), with Gloo and
Open MPI beside, none of them told an interface.

Needs root for network namespaces. Examples:
  bench/layouts.py
  bench/layouts.py --only same_bridge,ipv6_only --peers gloo --json layouts.json
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "launch"))
import layouts  # noqa: E402

UNISONO = """
import time, numpy as np, unisono
begin = time.monotonic()
unisono.init()
print("joined", time.monotonic() - begin, flush=True)
total = unisono.allreduce(np.ones(1000, np.float32), name="x", op=unisono.Sum)
assert (total == 2).all()
"""
GLOO = """
import datetime, os, time, torch, torch.distributed as dist
begin = time.monotonic()
dist.init_process_group("gloo", init_method="file://" + os.environ["MEETING"] + "/store",
                        rank=int(os.environ["UNISONO_RANK"]), world_size=2,
                        timeout=datetime.timedelta(seconds=LIMIT))
tensor = torch.ones(1000)
dist.all_reduce(tensor)
assert (tensor == 2).all()
print("joined", time.monotonic() - begin, flush=True)
"""


def two_scripts(builder: layouts.Builder, script: str, folder: str, limit_s: float) -> str | float:
    """Seconds that the slower rank took, or the last line of what went wrong."""
    ranks = []
    for host in range(layouts.HOSTS):
        environment = {**os.environ, "UNISONO_RANK": str(host), "UNISONO_SIZE": "2",
                       "UNISONO_LOCAL_RANK": "0", "UNISONO_LOCAL_SIZE": "1", "UNISONO_JOB": "layouts",
                       "UNISONO_JOB_DIR": folder, "MEETING": folder,
                       "UNISONO_JOIN_TIMEOUT_S": str(limit_s)}
        ranks.append(subprocess.Popen(
            [*builder.inside(host), sys.executable, "-c", script.replace("LIMIT", str(limit_s))],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    return outcome(ranks, limit_s)


def outcome(ranks: list[subprocess.Popen[str]], limit_s: float) -> str | float:
    times, words = [], ""
    for rank in ranks:
        try:
            output = rank.communicate(timeout=limit_s + 20)[0]
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.communicate()
            words = words or f"hangs for over {limit_s:.0f} s"
            continue
        lines = [line for line in output.splitlines() if line.strip()]
        joined = [line for line in lines if line.startswith("joined")]
        if rank.returncode == 0 and joined:
            times.append(float(joined[0].split()[1]))
        else:
            words = words or (lines[-1][:160] if lines else f"ends with {rank.returncode}")
    return words or max(times)


def open_mpi(builder: layouts.Builder, folder: str, limit_s: float) -> str | float:
    """mpirun with a remote shell that enters the other host."""
    shell = pathlib.Path(folder) / "rsh"
    shell.write_text("#!/bin/sh\nshift\nexec " + " ".join(builder.inside(1)) + ' sh -c "$*"\n')
    shell.chmod(0o755)
    body = ("import time; b = time.monotonic(); from mpi4py import MPI; import numpy as np; "
            "t = np.ones(1000, np.float32); MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, t); "
            "assert (t == 2).all(); print('joined', time.monotonic() - b)")
    line = [*builder.inside(0), "mpirun", "--allow-run-as-root", "-np", "2", "--host",
            "localhost:1,other:1", "--mca", "plm_rsh_agent", str(shell), "--mca", "btl", "self,tcp",
            sys.executable, "-c", body]
    return outcome([subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     text=True)], limit_s)


def measure(name: str, layout: layouts.Layout, limit_s: float) -> str | float:
    with tempfile.TemporaryDirectory() as folder, layouts.built(layout) as builder:
        if name == "openmpi":
            return open_mpi(builder, folder, limit_s)
        return two_scripts(builder, UNISONO if name == "unisono" else GLOO, folder, limit_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="layouts by name, with commas between")
    parser.add_argument("--peers", default="gloo,openmpi", help="gloo, openmpi, both, or none")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=10, help="seconds before a peer gives up")
    parser.add_argument("--json", help="where the rows go")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else None
    peers = [] if arguments.peers in ("", "none") else arguments.peers.split(",")
    if unknown := set(peers) - {"gloo", "openmpi"}:
        parser.error(f"--peers: unknown: {', '.join(sorted(unknown))}; there are gloo and openmpi")
    names = ["unisono", *peers]
    if "openmpi" in names and shutil.which("mpirun") is None:
        print("openmpi: mpirun was not found; left out", file=sys.stderr)
        names.remove("openmpi")
    rows = []
    for layout in layouts.MEETING:
        if wanted and layout.__name__ not in wanted:
            continue
        row: dict[str, object] = {"layout": layout.__name__}
        for name in names:
            results = [measure(name, layout, arguments.limit) for _ in range(arguments.repeat)]
            failures = [each for each in results if isinstance(each, str)]
            row[name] = failures[0] if failures else statistics.median(results)
            shown = row[name] if failures else f"{row[name]:.2f} s"
            print(f"{layout.__name__:32} {name:9} {shown}", flush=True)
        rows.append(row)
    if arguments.json:
        machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"
        pathlib.Path(arguments.json).write_text(json.dumps(
            {"machine": machine, "command": " ".join(sys.argv), "date": time.strftime("%F"),
             "results": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
