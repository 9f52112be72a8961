# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What unisono costs in PyTorch besides the step: small calls, init() alone, memory, two hosts.

    python bench/torch_costs.py                      # calls, init and memory
    python bench/torch_costs.py --part calls --json calls.json
    python bench/torch_costs.py --hosts              # two namespaces, 1 Gbit/s; needs root

calls   microseconds of an allreduce of 1 and 64 KiB at two ranks, in alternating blocks; "short" is
        a group without torch's flight recorder, on which sums pass by torch's dispatcher
init    a loop of one thread with an engine that has joined, over the same loop without: by the
        clock, in processor time of its own, and what the engine's threads computed beside it
memory  MiB of a rank that trains an MLP of 25 M parameters: "peak" is VmHWM and counts pages shared
        with the other rank in full, "pss" counts them once, taken after backward()
hosts   the step of that MLP with one rank on each of two hosts (bench/torch_step.py)
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import time

import hosts

PARTS = ("calls", "init", "memory")


def calls():
    import torch
    import torch.distributed as dist

    import unisono.torch as hvd
    dist.init_process_group("unisono")
    os.environ["TORCH_FR_BUFFER_SIZE"] = "0"
    gloo, short = dist.new_group(backend="gloo"), dist.new_group(backend="unisono")
    ways = {}
    for kib, tensor in ((1, torch.zeros(256)), (64, torch.zeros(16384))):
        ways |= {f"hvd.allreduce_, {kib} KiB": lambda t=tensor: hvd.allreduce_(t, name=f"t{len(t)}"),
                 f"on unisono, {kib} KiB": lambda t=tensor: dist.all_reduce(t),
                 f"on unisono, short, {kib} KiB": lambda t=tensor: dist.all_reduce(t, group=short),
                 f"on gloo, {kib} KiB": lambda t=tensor: dist.all_reduce(t, group=gloo)}
    times = {name: [] for name in ways}
    for block in range(11):
        for name, way in ways.items():
            dist.barrier()
            for number in range(220):
                began = time.perf_counter()
                way()
                if block and number >= 20:  # the first block and the first calls warm up
                    times[name].append(1e6 * (time.perf_counter() - began))
    dist.destroy_process_group()
    return [{"what": name, "median_us": statistics.median(each),
             "p90_us": statistics.quantiles(each, n=10)[-1]} for name, each in times.items()]


def init():
    import torch

    import unisono

    def loop():
        """Its seconds by the clock, those it computed, and those other threads did meanwhile."""
        x, sums = torch.ones(64, 64), 0
        clock, own, all_threads = time.perf_counter(), time.thread_time(), time.process_time()
        for number in range(4000):
            sums += number % 7 + (x @ x)[0, 0].item()
        clock, own = time.perf_counter() - clock, time.thread_time() - own
        return clock, own, time.process_time() - all_threads - own

    loop()
    ratios = {"clock_ratio": [], "cpu_ratio": [], "engine_cpu": []}
    for _ in range(30):
        clock, own, _ = loop()
        unisono.init()
        unisono.barrier()
        joined_clock, joined_own, others = loop()
        unisono.barrier()  # nobody leaves while another rank is in the loop
        unisono.shutdown()
        for key, ratio in zip(ratios, (joined_clock / clock, joined_own / own, others / own)):
            ratios[key].append(ratio)
    return [{"what": f"{name} of 30 pairs", **{key: pick(each) for key, each in ratios.items()}}
            for name, pick in (("median", statistics.median), ("lower quartile", quartile(0)),
                               ("upper quartile", quartile(2)))]


def quartile(index):
    return lambda values: statistics.quantiles(values, n=4)[index]


def view(model, **arguments):
    import torch_step
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(model, gradient_as_bucket_view=True, **arguments)
    return model, torch_step.sgd(model)


def in_gloo(model):
    import torch.distributed as dist
    return view(model, process_group=dist.new_group(backend="gloo"))


MEMORY = {"none": "none", "DDP over gloo": in_gloo, "optimizer, arena": "optimizer-arena",
          "optimizer, no arena": "optimizer", "DDP over unisono": view}


def memory(variant):
    import torch.distributed as dist
    import torch_step
    # An exchange over Gloo is measured without an engine of unisono in the process.
    ours = variant not in ("none", "DDP over gloo")
    import unisono.torch  # noqa: F401: registers the backend; imported by all, to compare alike
    dist.init_process_group("unisono" if ours else "gloo")
    model, data = torch_step.make_model("mlp")
    make = MEMORY[variant]
    model, optimizer = (torch_step.VARIANTS[make] if isinstance(make, str) else make)(model)
    pss = 0
    for _ in range(20):
        optimizer.zero_grad()
        model(data).square().mean().backward()
        pss = max(pss, kib("smaps_rollup", "Pss"))
        optimizer.step()
    row = {"what": variant, "pss_mib": pss / 1024, "peak_mib": kib("status", "VmHWM") / 1024}
    dist.barrier()
    dist.destroy_process_group()
    return [row]


def kib(file, field):
    for line in pathlib.Path("/proc/self", file).read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    return 0


def run(lines, environment):
    """Starts one process per line; gives what rank 0 printed last, decoded."""
    ranks = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env={
        **os.environ, "OMP_NUM_THREADS": "1", **environment(rank)})
        for rank, line in enumerate(lines)]
    outputs = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit("a rank failed; see above")
    return json.loads(outputs[0].splitlines()[-1].removeprefix("[0] "))  # the launcher's mark


def two_ranks(part, *more):
    line = [sys.executable, __file__, "--part", part, *more]
    if part == "init":  # joins again and again, which a launcher allows
        beside = pathlib.Path(sys.executable).with_name("unisono")
        command = str(beside) if beside.exists() else shutil.which("unisono") or sys.exit(
            "the unisono command was not found; pip install .")
        return run([[command, "run", "-np", "2", *line]], lambda _: {})
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return run([line, line], lambda rank: {
        "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})


def two_hosts():
    step = [sys.executable, str(pathlib.Path(__file__).with_name("torch_step.py")),
            "--only", "none,ddp-gloo,ddp-unisono,optimizer,optimizer-two-phase,"
            "optimizer-priority", "--blocks", "2", "--steps", "6"]
    with hosts.joined() as inside:
        if not inside:
            print("hosts: skipped: needs root, ip and tc")
            return []
        measured = run([[*each, *step] for each in inside], lambda rank: {
            "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": hosts.address(0),
            "MASTER_PORT": "29517", "GLOO_SOCKET_IFNAME": "eth0"})
    medians = {name: statistics.median(times) for name, times in measured["times"].items()}
    return [{"what": name, "step_ms": each, "gloo_ratio": medians["ddp-gloo"] / each}
            for name, each in medians.items()]


def show(part, rows):
    for row in rows:
        print(f"{part:8}{row['what']:30}" + "".join(
            f"{key} {value:<10.4g}" for key, value in row.items() if key != "what"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, help="this part alone")
    parser.add_argument("--hosts", action="store_true", help="two hosts, and no other part")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--variant", choices=list(MEMORY), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if "RANK" in os.environ or "UNISONO_RANK" in os.environ:
        rows = memory(options.variant) if options.part == "memory" else globals()[options.part]()
        if os.environ.get("RANK", os.environ.get("UNISONO_RANK")) == "0":
            print(json.dumps(rows))
        return
    results = {}
    print(f"two ranks with one thread each, {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    for part in ["hosts"] if options.hosts else [options.part] if options.part else PARTS:
        if part == "memory":
            rows = [row for each in MEMORY for row in two_ranks(part, "--variant", each)]
        else:
            rows = two_hosts() if part == "hosts" else two_ranks(part)
        results[part] = rows
        show(part, rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"machine": platform.platform(), "command": sys.argv, "results": results}, indent=1))


if __name__ == "__main__":
    main()
