# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The time of a training step in PyTorch, with one way of exchanging gradients beside another.

    python bench/torch_step.py [--model mlp|conv] [--ranks 2] [--only NAME,...] [--json FILE]

All variants live in the same processes and take turns in short blocks, so that whatever else the
machine does meets all of them alike. Every rank computes with one thread. "exposed" is the step
beyond the one without exchange; "cpu" is what all threads of a rank computed for a step, which says
something on a machine that is not quiet, too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import time

OVERLAPPED = ("optimizer-two-phase", "optimizer-priority")  # steps end during the next one
VARIANTS = {}  # name -> function(model) that gives (model to call, optimizer)


def variant(name):
    def add(function):
        VARIANTS[name] = function
        return function
    return add


def sgd(model):
    import torch
    return torch.optim.SGD(model.parameters(), lr=0.001)


@variant("none")
def no_exchange(model):
    return model, sgd(model)


@variant("ddp-gloo")
def ddp_over_gloo(model):
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(model, process_group=dist.new_group(backend="gloo"))
    return model, sgd(model)


@variant("ddp-unisono")
def ddp_over_unisono(model):
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(model)
    return model, sgd(model)


@variant("ddp-unisono-hook")
def ddp_with_hook(model):
    from unisono.torch import HookState, ddp_hook
    model, optimizer = ddp_over_unisono(model)
    model.register_comm_hook(HookState(), ddp_hook)
    return model, optimizer


@variant("optimizer")
def unisono_optimizer(model):
    from unisono.torch.optimizer import DistributedOptimizer
    return model, DistributedOptimizer(sgd(model), model.named_parameters(),
                                       gradients_in_arena=False)


@variant("optimizer-arena")
def unisono_optimizer_in_arena(model):
    from unisono.torch.optimizer import DistributedOptimizer
    optimizer = DistributedOptimizer(sgd(model), model.named_parameters())
    assert optimizer.gradients_in_arena, str(optimizer.gradients_in_arena)
    return model, optimizer


def scheduled(model, schedule):
    from unisono.torch.optimizer import DistributedOptimizer
    return model, DistributedOptimizer(sgd(model), model.named_parameters(), schedule=schedule)


@variant("optimizer-two-phase")
def two_phases(model):
    return scheduled(model, "two-phase")


@variant("optimizer-priority")
def urgent_first(model):
    return scheduled(model, "priority")


def make_model(kind):
    """The model, its input and the classes to tell apart."""
    import torch
    from torch import nn
    torch.manual_seed(0)
    if kind == "mlp":
        layers = [layer for _ in range(6) for layer in (nn.Linear(2048, 2048), nn.ReLU())]
        return nn.Sequential(*layers), torch.randn(32, 2048)
    widths, layers = [3, 64, 128, 256, 512], []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if after > 64 else []
    layers += [nn.Flatten(), nn.Linear(8192, 1024), nn.ReLU(), nn.Linear(1024, 10)]
    return nn.Sequential(*layers), torch.randn(10, 3, 32, 32)


def step(model, optimizer, data):
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()


def rank_main(options):
    import torch
    import torch.distributed as dist

    import unisono.torch  # noqa: F401: registers the backend
    torch.set_num_threads(1)
    dist.init_process_group("unisono")
    ready = {}
    for name in options.only:
        model, data = make_model(options.model)
        ready[name] = (*VARIANTS[name](model), data)
    times, cpu = {name: [] for name in ready}, {name: [] for name in ready}
    for block in range(options.blocks + 1):
        if dist.get_rank() == 0:
            filled = 30 * block // (options.blocks + 1)
            print(f"[{'#' * filled}{'.' * (30 - filled)}] block {block} of {options.blocks}",
                  end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)
        for name, parts in ready.items():
            dist.barrier()
            for number in range(options.steps):
                began, computed = time.perf_counter(), time.process_time()
                step(*parts)
                # The first block warms up, the first step of each finds the caches cold.
                if block and number:
                    times[name].append(1e3 * (time.perf_counter() - began))
                    cpu[name].append(1e3 * (time.process_time() - computed))
            began = time.perf_counter()
            if name in OVERLAPPED:  # what the last step left on its way belongs to it
                parts[1].synchronize()
            if block:
                times[name][-1] += 1e3 * (time.perf_counter() - began)
    if dist.get_rank() == 0:
        print(json.dumps({"torch": torch.__version__, "times": times, "cpu": cpu,
                          "parameters": sum(p.numel() for p in model.parameters())}))
    dist.destroy_process_group()


def report(options, measured):
    medians = {name: statistics.median(times) for name, times in measured["times"].items()}
    none, gloo = medians.get("none"), medians.get("ddp-gloo")
    print(f"{options.model}, {measured['parameters'] / 1e6:.1f} M parameters, {options.ranks} "
          f"ranks with one thread each, torch {measured['torch']}, {platform.machine()}")
    print(f"{'variant':20}{'median ms':>10}{'p10':>8}{'p90':>8}{'cpu':>8}{'exposed':>9}"
          f"{'gloo / this':>12}")
    rows = []
    for name, times in measured["times"].items():
        deciles = statistics.quantiles(times, n=10)
        row = {"variant": name, "model": options.model, "ranks": options.ranks,
               "median_ms": medians[name], "p10_ms": deciles[0], "p90_ms": deciles[-1],
               "cpu_ms": statistics.median(measured["cpu"][name]), "steps": len(times),
               "exposed_ms": medians[name] - none if none else None,
               "gloo_ratio": gloo / medians[name] if gloo else None}
        rows.append(row)
        exposed = "" if none is None else f"{row['exposed_ms']:.1f}"
        ratio = "" if gloo is None else f"{row['gloo_ratio']:.2f}x"
        print(f"{name:20}{medians[name]:10.1f}{deciles[0]:8.1f}{deciles[-1]:8.1f}"
              f"{row['cpu_ms']:8.1f}{exposed:>9}{ratio:>12}")
    return {"machine": platform.platform(), "command": sys.argv, "results": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=["mlp", "conv"], default="mlp")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=6, help="rounds over all variants")
    parser.add_argument("--steps", type=int, default=8, help="steps of one variant in a row")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(VARIANTS),
                        help="variants, by comma: " + ", ".join(VARIANTS))
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if "RANK" in os.environ:
        return rank_main(options)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                "WORLD_SIZE": str(options.ranks), "OMP_NUM_THREADS": "1"}
    ranks = [subprocess.Popen([sys.executable, *sys.argv], stdout=subprocess.PIPE, text=True,
                              env={**settings, "RANK": str(rank)}) for rank in range(options.ranks)]
    outputs = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit("a rank failed; see above")
    result = report(options, json.loads(outputs[0].splitlines()[-1]))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
