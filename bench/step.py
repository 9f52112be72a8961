#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What training steps take between hosts under each planner, and what `unisono simulate` predicts
for them.

Hosts are network namespaces with wires shaped to a rate. For every model, number of hosts and rate
one job runs `unisono bench step`, in which the planners take turns; then the same profile is
simulated on a timeline, twice:

  given     alpha is what the engines measured for the shortest message while they joined; beta is
            what the rate makes of a byte, with the headers of full frames
  measured  alpha and beta are both what the engines measured while they joined (messages of up to
            256 KiB, of which the shaper lets 128 KiB through at once, so that beta is too small)

Neither looks at any step. A row agrees when the "given" prediction is within --within of the median.
Needs root. Examples:
  bench/step.py
  bench/step.py --hosts 4 --rates 1gbit --models resnet50 --emulate alpha=0.5ms
  bench/step.py --hosts 2 --rates 100mbit --models googlenet --scale 0.05 --json step.json

Full profiles take long: 8 hosts at 100 Mbit/s need 17 s for one step of ResNet-50. So times and sizes
are multiplied by --scale, by default 0.1 and at 100 Mbit/s 0.02, and fusion_bytes with them. Latencies
are not: a scaled step is another step, in which latency counts for more, and so it is simulated.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import hosts

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNISONO = pathlib.Path(os.environ.get("UNISONO_BIN", ROOT / ".venv" / "bin" / "unisono"))
FUSION_BYTES = 64 << 20
# Of a full frame of Ethernet as the shaper counts it, and what TCP carries in it.
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448
MIB = float(1 << 20)


def scale_of(given: argparse.Namespace, rate: str) -> float:
    return given.scale or (0.1 if hosts.bits_per_s(rate) > 5e8 else 0.02)


def run_json(words: list[str], what: str, timeout_s: float) -> dict:
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode != 0:
        sys.exit(f"{what}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def replay(given: argparse.Namespace, inside: hosts.Inside, shell: str, case: dict,
           profile: pathlib.Path) -> dict:
    where = ",".join(f"{hosts.address(host)}:1" for host in range(len(inside)))
    words = [*inside[0], str(UNISONO), "run", "-np", str(len(inside)), "-H", where, "--rsh", shell,
             "--no-prefix", str(UNISONO), "bench", "step", "--model", case["model"],
             "--scale", str(case["scale"]), "--fusion-bytes", str(case["fusion_bytes"]),
             "--planner", given.planner, "--order", given.order, "--integrity", given.integrity,
             "--emulate", given.emulate, "--steps", str(given.steps), "--repeat", str(given.repeat),
             "--spin-us", "0", *[word for pair in given.set for word in ("--set", pair)],
             "--warmup", str(given.warmup), "--write-profile", str(profile), "--json", "-"]
    return run_json(words, f"bench step, {case}", 3600)


def networks(found: dict, rate: str) -> dict[str, str]:
    """The networks to simulate, by what they rest on."""
    wire = next(link for link in found["links"] if link["link"] == "wire")
    if not wire["measured"]:
        sys.exit("the engines did not measure the wire between the hosts")
    alpha, gamma = wire["latency_us"] * 1e-6, found["reduce_us_per_mib"] * 1e-6 / MIB
    by_rate = 8 / hosts.bits_per_s(rate) * FRAME_BYTES / PAYLOAD_BYTES
    measured = wire["us_per_mib"] * 1e-6 / MIB
    return {name: f"alpha={alpha:.6g},beta={beta:.6g},gamma={gamma:.6g}"
            for name, beta in (("given", by_rate), ("measured", measured))}


def simulated(given: argparse.Namespace, network: str, count: int, case: dict,
              profile: pathlib.Path, planners: list[str]) -> dict[str, dict]:
    words = [str(UNISONO), "simulate", "--trace", str(profile), "--ranks", str(count), "--network",
             network, "--emulate", given.emulate, "--engine", "timeline", "--planner",
             ",".join(planners), "--fusion-bytes", str(case["fusion_bytes"]), "--json", "-", "-q"]
    found = run_json(words, f"simulate, {case}", 600)
    return {row["planner"]: row for row in found["results"]}


def compare(given: argparse.Namespace, found: dict, case: dict, profile: pathlib.Path) -> list[dict]:
    rows = [row for row in found["results"] if "step_ms" in row]
    planners = [row["planner"] for row in rows]
    predicted = {name: simulated(given, network, case["hosts"], case, profile, planners)
                 for name, network in networks(found, case["rate"]).items()}
    for row in rows:
        ms = {name: each[row["planner"]]["step_ms"] for name, each in predicted.items()}
        error = ms["given"] / row["step_ms"] - 1
        row.update(case, given_ms=ms["given"], measured_ms=ms["measured"], error=error,
                   simulated_buckets=predicted["given"][row["planner"]]["buckets"],
                   agrees=abs(error) <= given.within)
        print(f"  {row['planner']:>14} {row['step_ms']:9.1f} ms, p90 {row['p90_ms']:8.1f}, "
              f"{row['buckets']:6.1f} buckets, planned {100 * row['planned']:3.0f} %, "
              f"of best {row['of_best']:.2f}x | simulated {ms['given']:8.1f} ms "
              f"({100 * error:+5.1f} %), {row['simulated_buckets']:4.0f} buckets; by measured costs "
              f"{ms['measured']:8.1f}{'' if row['agrees'] else '  OUTSIDE'}", flush=True)
    for row in found["results"]:
        if "refused" in row:
            print(f"  {row['planner']:>14} not measured: {row['refused']}")
    return rows


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="2,4,8", help="with one rank each")
    parser.add_argument("--rates", default="1gbit,100mbit", help="of the wires, as tc writes them")
    parser.add_argument("--models", default="resnet50,googlenet")
    parser.add_argument("--scale", type=float, help="of times and sizes")
    parser.add_argument("--planner", default="all")
    parser.add_argument("--order", default="topo")
    parser.add_argument("--integrity", default="plain")
    parser.add_argument("--emulate", default="off", help="as unisono bench step takes it")
    parser.add_argument("--set", action="append", default=[], help="an option as key=value")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=12)
    parser.add_argument("--within", type=float, default=0.15, help="how far off agrees")
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"
    print(machine)
    rows: list[dict] = []
    for rate in given.rates.split(","):
        for count in map(int, given.hosts.split(",")):
            with hosts.joined(rate, count) as inside, tempfile.TemporaryDirectory() as folder:
                if not inside:
                    sys.exit("network namespaces cannot be made here; run as root, with ip and tc")
                shell = hosts.remote_shell(inside, folder)
                for model in given.models.split(","):
                    scale = scale_of(given, rate)
                    case = {"model": model, "hosts": count, "rate": rate, "scale": scale,
                            "emulate": given.emulate, "fusion_bytes": int(FUSION_BYTES * scale)}
                    profile = pathlib.Path(folder) / f"{model}.json"
                    found = replay(given, inside, shell, case, profile)
                    print(f"{model} x {scale:g}, {count} hosts, {rate}"
                          f"{'' if given.emulate == 'off' else f', EMULATED {given.emulate}'}: "
                          f"{found['bytes'] / 1e6:.1f} MB, compute {found['compute_ms']:.1f} ms; "
                          f"{networks(found, rate)['given']}", flush=True)
                    rows += compare(given, found, case, profile)
    agree = sum(row["agrees"] for row in rows)
    print(f"{agree} of {len(rows)} predictions are within {100 * given.within:.0f} %")
    if given.json:
        given.json.write_text(json.dumps({"machine": machine, "command": sys.argv,
                                          "results": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
