#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How long an allreduce between hosts takes, and how far it is from what the wire allows.

Two hosts are network namespaces that a veth joins, shaped to --rate; every case is measured in turn,
--rounds times. Needs root. Examples:
  bench/wire.py
  bench/wire.py --ranks 2 --cases ring,hierarchical,direct --bytes 1M,16M
  bench/wire.py --cases plain,auth,encrypt --json wire.json

The limit is 2 (h-1)/h of the bytes at the rate, for h hosts, without any header.
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

import torch_hosts

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNISONO = ROOT / ".venv" / "bin" / "unisono"
HOSTS = 2
# Run by every rank: the times of rank 0, after a barrier each.
RANK = """
import sys, time, numpy as np, unisono
size, times = int(sys.argv[1]), int(sys.argv[2])
with unisono.Engine() as engine:
    data = np.ones(size // 4, np.float32)
    warm = 12  # in the first operations of a size algorithms may be on trial
    for turn in range(times + warm):
        data[:] = 1
        engine.barrier()
        begin = time.perf_counter()
        engine.allreduce_(data, name="x", op=unisono.Sum)
        took = time.perf_counter() - begin
        assert (data == engine.size()).all()
        if engine.rank() == 0 and turn >= warm:
            print("took", took, flush=True)
"""
CASES = {
    "plain": {"UNISONO_INTEGRITY": "plain"},
    "auth": {},
    "encrypt": {"UNISONO_ENCRYPT": "1"},
}


def bytes_of(text: str) -> int:
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1].upper(), 1)
    return int(text[:-1] if factor > 1 else text) * factor


def bits_per_s(rate: str) -> float:
    factors = {"gbit": 1e9, "mbit": 1e6, "kbit": 1e3}
    return float(rate[:-4]) * factors[rate[-4:]]


def measure(inside: list[list[str]], shell: str, ranks: int, case: str, size: int,
            times: int) -> list[float]:
    # A case that is no way to guard frames is an algorithm.
    options = CASES.get(case, {"UNISONO_ALGORITHM": case})
    where = ",".join(f"{torch_hosts.address(host)}:{ranks}" for host in range(HOSTS))
    line = [*inside[0], str(UNISONO), "run", "-np", str(HOSTS * ranks), "-H", where, "--rsh", shell,
            "--no-prefix", sys.executable, "-c", RANK, str(size), str(times)]
    job = subprocess.run(line, env={**os.environ, **options}, capture_output=True, text=True,
                         timeout=600, check=False)
    if job.returncode != 0:
        sys.exit(f"{case}: {job.stderr[-2000:]}")
    return [float(row.split()[1]) for row in job.stdout.splitlines() if row.startswith("took")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=1, help="of each host")
    parser.add_argument("--rate", default="1gbit", help="of the wire, as tc writes it")
    parser.add_argument("--bytes", default="16M")
    parser.add_argument("--cases", default="auto", help=f"algorithms, or {', '.join(CASES)}")
    parser.add_argument("--times", type=int, default=5, help="in one job")
    parser.add_argument("--rounds", type=int, default=3, help="jobs of each case, in turn")
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    rows = []
    print(f"{HOSTS} hosts x {given.ranks} ranks, {given.rate}; {platform.machine()}, "
          f"{os.cpu_count()} cores, Linux {platform.release()}")
    with torch_hosts.joined(given.rate) as inside, tempfile.TemporaryDirectory() as folder:
        if not inside:
            sys.exit("network namespaces cannot be made here; run as root, with ip and tc")
        shell = pathlib.Path(folder) / "rsh"
        names = [words[-1] for words in inside]
        cases = "".join(f"{torch_hosts.address(host)}) name={name} ;; "
                        for host, name in enumerate(names))
        shell.write_text(f"#!/bin/sh\nhost=$1; shift\ncase $host in {cases}esac\n"
                         "exec ip netns exec $name sh -c \"$*\"\n")
        shell.chmod(0o755)
        for text in given.bytes.split(","):
            size = bytes_of(text)
            limit = 2 * (HOSTS - 1) / HOSTS * size * 8 / bits_per_s(given.rate)
            took: dict[str, list[float]] = {case: [] for case in given.cases.split(",")}
            for turn in range(given.rounds):
                for case, found in took.items():
                    if sys.stderr.isatty():
                        print(f"\r{text} round {turn + 1} of {given.rounds}: {case}   ",
                              end="", file=sys.stderr, flush=True)
                    found += measure(inside, str(shell), given.ranks, case, size, given.times)
            for case, found in took.items():
                middle, slow = statistics.median(found), sorted(found)[int(len(found) * 0.9)]
                rows.append({"bytes": size, "case": case, "median_s": middle, "p90_s": slow,
                             "limit_s": limit, "of_limit": limit / middle})
                print(f"{text:>6} {case:>20} {middle * 1e3:9.2f} ms, p90 {slow * 1e3:9.2f}, "
                      f"{100 * limit / middle:5.1f} % of the limit")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
