#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What linear models on sparse data gain from sparse sums: `unisono opt train` between hosts by
each exchange, and Open MPI's dense allreduce of as long a vector on the same wires.

Hosts are network namespaces with wires shaped to --rate, one rank on each, --batch rows in a step
of a rank. Rows are generated: like URL's, 3,231,961 features and 116 entries of a row, or like
Webspam's, 16,609,143 and 3,730 (docs/OPT.md says what is the real sets' and what is ours). Open MPI
is measured where UNISONO_PEER_OPENMPI_PYTHON names a Python with mpi4py. Needs root. Examples:
  bench/studies/opt.py
  bench/studies/opt.py --shapes url --exchanges dense,allgather --scd
  bench/studies/opt.py --predict

"dense" and "Open MPI" are how many times as long our dense exchange and its allreduce take; epochs
after the first count. --predict measures nothing: it prints what closed forms (sparse_forms.py)
make of more hosts and faster wires. Ends with status 1 where the best
exchange is below --aim-url or --aim-webspam times Open MPI.
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "studies")]
import hosts  # noqa: E402
import sparse  # noqa: E402
import sparse_forms  # noqa: E402

UNISONO = sparse.UNISONO
EXCHANGES = "dense,allgather,ssar_split_allgather,ssar_recursive_double,sparse_ring,sparse"


def generated(given: argparse.Namespace, shape: str, folder: pathlib.Path,
              steps: int) -> pathlib.Path:
    path = folder / f"{shape}.svm"
    rows = steps * given.batch * given.hosts
    print(f"generating {rows:,} rows like {shape}'s", flush=True)
    subprocess.run([str(UNISONO), "opt", "generate", shape, "--rows", str(rows), "--out", str(path),
                    "-q"], check=True, capture_output=True)
    return path


def trained(given: argparse.Namespace, inside: hosts.Inside, shell: str, words: list[str]) -> dict:
    where = ",".join(f"{hosts.address(host)}:1" for host in range(len(inside)))
    done = subprocess.run([*inside[0], str(UNISONO), "run", "-np", str(len(inside)), "-H", where,
                           "--rsh", shell, "--no-prefix", str(UNISONO), "opt", "train", "-q",
                           "--batch", str(given.batch), "--rate", "1", "--json", "-", *words],
                          capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        sys.exit(f"opt train {' '.join(words)}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return json.loads(done.stdout[done.stdout.index("{"):])


def of_a_step(report: dict, first: int) -> dict:
    """Medians over the epochs from `first` on, for one step."""
    epochs = report["epochs"][first:]
    out = {what: statistics.median(one[what] / one["steps"] for one in epochs)
           for what in ("compute_s", "communication_s", "bytes", "sent_bytes")}
    out["nonzeros"] = statistics.median(one["nonzeros_per_step"] for one in epochs)
    return {**out, "exchange": report.get("exchange", ""), "loss": report["epochs"][-1]["loss"],
            "epochs": len(epochs), "steps": epochs[0]["steps"]}


def measured(given: argparse.Namespace, inside: hosts.Inside, shell: str, shape: str,
             path: pathlib.Path) -> list[dict]:
    features = sparse_forms.SHAPES[shape].features
    length = argparse.Namespace(length=features, repeat=given.peer_repeat, peer_timeout=300)
    peer = sparse.open_mpi(length, inside, shell)
    rows = []
    for exchange in given.exchanges.split(","):
        report = trained(given, inside, shell, ["--data", str(path), "--exchange", exchange,
                                                "--epochs", str(given.epochs)])
        rows.append({"shape": shape, "solver": "sgd", "asked": exchange, **of_a_step(report, 1)})
        print(f"  {shape} {exchange}: {1e3 * rows[-1]['communication_s']:.1f} ms a step",
              flush=True)
    peer += sparse.open_mpi(length, inside, shell)
    if peer:
        rows.append({"shape": shape, "solver": "sgd", "asked": "openmpi",
                     "communication_s": statistics.median(peer), "repetitions": len(peer)})
    return rows


def coordinates(given: argparse.Namespace, inside: hosts.Inside, shell: str,
                path: pathlib.Path) -> list[dict]:
    """An epoch of coordinate descent. The dense exchange takes as long whatever the coordinates,
    and with a hundred of them an epoch of URL has four thousand steps, so it gets many."""
    rows = []
    for exchange, count in (("dense", 40_000), ("allgather", 100)):
        report = trained(given, inside, shell, [
            "--data", str(path), "--exchange", exchange, "--solver", "scd", "--coordinates",
            str(count), "--epochs", "1"])
        rows.append({"shape": "url", "solver": "scd", "asked": exchange, "coordinates": count,
                     **of_a_step(report, 0)})
    return rows


def print_rows(given: argparse.Namespace, rows: list[dict]) -> list[str]:
    """Returns what is not as hoped."""
    wrong = []
    for shape, solver in dict.fromkeys((row["shape"], row["solver"]) for row in rows):
        some = {row["asked"]: row for row in rows
                if (row["shape"], row["solver"]) == (shape, solver)}
        dense, peer = some.get("dense"), some.get("openmpi")
        features = sparse_forms.SHAPES[shape].features
        ring = 2 * (given.hosts - 1) / given.hosts * 4 * features
        print(f"{shape}, {solver}, {given.hosts} hosts, {given.rate}, a step:")
        for name, row in some.items():
            took = row["communication_s"]
            line = f"  {name:>22} communication {1e3 * took:9.1f} ms"
            if "compute_s" in row:
                line += (f", compute {1e3 * row['compute_s']:7.1f} | {row['nonzeros']:,.0f} "
                         "non-zeros | "
                         f"sent by all {row['sent_bytes'] / 1e6:8.2f} MB, "
                         f"{given.hosts * ring / row['sent_bytes']:6.1f}x fewer than a dense ring")
            for title, other in (("dense", dense), ("Open MPI", peer)):
                if other and other is not row:
                    line += f" | {title} {other['communication_s'] / took:6.2f}x"
            if peer and "compute_s" in row and name != "dense":
                whole = peer["communication_s"] + row["compute_s"]
                line += f", end to end {whole / (took + row['compute_s']):6.2f}x"
            print(line)
        best = min((row["communication_s"] for name, row in some.items()
                    if name not in ("dense", "openmpi")), default=None)
        other, aim = (peer, {"url": given.aim_url, "webspam": given.aim_webspam}[shape]) \
            if solver == "sgd" else (dense, given.aim_scd)
        if best and other and other["communication_s"] / best < aim:
            wrong.append(f"{shape}, {solver}: {other['communication_s'] / best:.1f}x, "
                         f"hoped for {aim:g}x")
    return wrong


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=8, help="with one rank each")
    parser.add_argument("--rate", default="1gbit", help="of the wires, as tc writes it")
    parser.add_argument("--shapes", default="url,webspam")
    parser.add_argument("--exchanges", default=EXCHANGES)
    parser.add_argument("--batch", type=int, default=1000, help="rows of a rank in a step")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--url-steps", type=int, default=3, help="of an epoch")
    parser.add_argument("--webspam-steps", type=int, default=1, help="of an epoch")
    parser.add_argument("--peer-repeat", type=int, default=2, help="calls of Open MPI, twice")
    parser.add_argument("--scd", action="store_true", help="coordinate descent as well, on url")
    parser.add_argument("--predict", action="store_true", help="measure nothing")
    parser.add_argument("--aim-url", type=float, default=23.0)
    parser.add_argument("--aim-webspam", type=float, default=25.0)
    parser.add_argument("--aim-scd", type=float, default=5.0, help="over our dense exchange")
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the rows, and finds them again")
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if given.predict:
        sparse_forms.print_predictions(given.batch)
        return
    rows: list[dict] = []
    with hosts.joined(given.rate, given.hosts) as inside, tempfile.TemporaryDirectory() as scratch:
        if not inside:
            sys.exit("network namespaces cannot be made here; run as root, with ip and tc")
        shell = hosts.remote_shell(inside, scratch)
        folder = given.folder or pathlib.Path(scratch)
        for shape in given.shapes.split(","):
            path = folder / f"{shape}.svm"
            if not path.exists():
                path = generated(given, shape, folder,
                                 given.url_steps if shape == "url" else given.webspam_steps)
            rows += measured(given, inside, shell, shape, path)
            if given.scd and shape == "url":
                rows += coordinates(given, inside, shell, path)
    wrong = print_rows(given, rows)
    if given.json:
        machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"
        given.json.write_text(json.dumps({"machine": machine, "command": sys.argv,
                                          "results": rows}, indent=1) + "\n")
    for line in wrong:
        print(f"not as hoped: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
