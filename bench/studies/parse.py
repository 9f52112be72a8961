#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How fast a core reads LIBSVM text: `unisono opt predict --threads 1` over generated rows, by the
time its process computed, which other work on the machine hardly changes. Prediction is part of it.
Examples:
  bench/studies/parse.py
  bench/studies/parse.py --shapes url --rows 50000

Ends with status 1 where a core reads less than --aim MB/s.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNISONO = str(os.environ.get("UNISONO_BIN", ROOT / ".venv" / "bin" / "unisono"))


def computed() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(*words: str) -> float:
    """Seconds that the command computed."""
    before = computed()
    subprocess.run([UNISONO, "opt", *words], check=True, capture_output=True)
    return computed() - before


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="url,webspam")
    parser.add_argument("--rows", type=int, help="100,000 like URL's, 2,000 like Webspam's")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--aim", type=float, default=200.0, help="MB/s of a core")
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    rows, slow = [], False
    with tempfile.TemporaryDirectory() as scratch:
        for shape in given.shapes.split(","):
            data, some, model = (f"{scratch}/{name}" for name in (f"{shape}.svm", "some", "model"))
            count = given.rows or {"url": 100_000, "webspam": 2_000}[shape]
            run("generate", shape, "--rows", str(count), "--out", data, "-q")
            run("generate", shape, "--rows", "200", "--out", some, "-q")
            run("train", "--data", some, "--epochs", "1", "--rate", "1", "--model", model, "-q")
            # What a process takes with next to no rows, such as reading the model, is taken off.
            base = statistics.median(run("predict", "--model", model, "--data", some)
                                     for _ in range(given.repeat))
            size = pathlib.Path(data).stat().st_size
            found = [size / (run("predict", "--model", model, "--data", data) - base) / 1e6
                     for _ in range(given.repeat)]
            rows.append({"shape": shape, "rows": count, "bytes": size, "mb_per_s": found})
            print(f"{shape}: {size / 1e6:.0f} MB, {statistics.median(found):.0f} MB/s of a core "
                  f"({min(found):.0f} to {max(found):.0f})", flush=True)
            slow |= statistics.median(found) < given.aim
    if given.json:
        given.json.write_text(json.dumps({"command": sys.argv, "results": rows}, indent=1) + "\n")
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()
