#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Whether several buckets in flight pay: a stream of tensors that are not fused, with 1, 2 and 3
teams in turn, over TCP on loopback or, with --rate, between two network namespaces (needs root).
  bench/stream.py --ranks 2
  bench/stream.py --rate 1gbit
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile

import hosts
from wire import UNISONO, Job, bytes_of, unisono_line

BODY = """
import sys, time, numpy as np, unisono
with unisono.Engine() as engine:
    for size in map(int, sys.argv[1].split(",")):
        count = max(4, min(64, (32 << 20) // size))
        data = [np.ones(size // 4, np.float32) for _ in range(count)]
        for turn in range(int(sys.argv[2]) + 2):  # in the first turns algorithms are on trial
            for each in data:
                each[:] = 1
            engine.barrier()
            begin = time.perf_counter()
            handles = [engine.allreduce_async_(each, name=f"t{i}", op=unisono.Sum)
                       for i, each in enumerate(data)]
            for handle in handles:
                handle.wait()
            took = time.perf_counter() - begin
            assert all((each == engine.size()).all() for each in data)
            if engine.rank() == 0 and turn > 1:
                print("took", size, took / count, flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2, help="on loopback")
    parser.add_argument("--rate", help="of a wire between two namespaces, as tc writes it")
    parser.add_argument("--bytes", default="256K,1M,4M", help="of a tensor")
    parser.add_argument("--teams", default="1,2,3")
    parser.add_argument("--times", type=int, default=4, help="streams in one job")
    parser.add_argument("--rounds", type=int, default=3, help="jobs of each, in turn")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        line = [str(UNISONO), "run", "-np", str(given.ranks), "--no-prefix", sys.executable]
        if given.rate:
            inside = stack.enter_context(hosts.joined(given.rate))
            if not inside:
                sys.exit("network namespaces cannot be made here; run as root, with ip and tc")
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            line = [*inside[0], *unisono_line(Job(inside, hosts.remote_shell(inside, folder), 1))]
        sizes = ",".join(str(bytes_of(text)) for text in given.bytes.split(","))
        took: dict[tuple[int, str], list[float]] = {}
        for _ in range(given.rounds):
            for teams in given.teams.split(","):
                done = subprocess.run([*line, "-c", BODY, sizes, str(given.times)], text=True,
                                      env={**os.environ, "UNISONO_TRANSPORT": "tcp",
                                           "UNISONO_FUSION_BYTES": "0", "UNISONO_TEAMS": teams},
                                      capture_output=True, timeout=600, check=False)
                if done.returncode != 0:
                    sys.exit(done.stderr[-2000:])
                for row in done.stdout.splitlines():
                    if row.startswith("took "):
                        _, size, seconds = row.split()
                        took.setdefault((int(size), teams), []).append(float(seconds))
    for (size, teams), found in sorted(took.items()):
        print(f"{size >> 10:>6} KiB, {teams} in flight: {statistics.median(found) * 1e6:9.0f} µs for "
              f"each, {min(found) * 1e6:9.0f} at best, {size / statistics.median(found) / 1e9:6.3f} GB/s")


if __name__ == "__main__":
    main()
