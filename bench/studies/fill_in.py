#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""How much of a vector the sum has when ranks bring only some of it: `unisono bench sparse`, which
checks every sum, over numbers of ranks, densities and supports.

Nothing here is a time. "expected" is what independent draws give; where all indices are equally
likely, 1 - (1 - density)^ranks. Examples:
  bench/studies/fill_in.py
  bench/studies/fill_in.py --ranks 2,16 --length 65536
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNISONO = pathlib.Path(os.environ.get("UNISONO_BIN", ROOT / ".venv" / "bin" / "unisono"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--density", default="0.001953125,0.0078125,0.03125,0.125,0.25,0.5")
    parser.add_argument("--support", default="uniform,zipf")
    parser.add_argument("--length", type=int, default=1 << 18)
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    rows = []
    for ranks in given.ranks.split(","):
        for support in given.support.split(","):
            for density in given.density.split(","):
                done = subprocess.run(
                    [str(UNISONO), "bench", "sparse", "-np", ranks, "--transport", "tcp",
                     "--length", str(given.length), "--density", density, "--support", support,
                     "--algorithm",
                     "ssar_split_allgather", "--repeat", "1", "--warmup", "0", "--json", "-"],
                    capture_output=True, text=True, timeout=600, check=False)
                if done.returncode != 0:
                    sys.exit(f"bench sparse: {done.stderr[-2000:]}")
                row = json.loads(done.stdout)["results"][0]
                rows.append({"ranks": int(ranks), "support": support, "density": float(density),
                             "fill_in": row["fill_in"], "expected": row["expected_fill_in"]})
                print(f"{ranks} ranks, {support}, {100 * float(density):g} % each: "
                      f"{100 * row['fill_in']:.2f} % in the sum, expected "
                      f"{100 * row['expected_fill_in']:.2f} %", flush=True)
    if given.json:
        given.json.write_text(json.dumps({"command": sys.argv, "results": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
