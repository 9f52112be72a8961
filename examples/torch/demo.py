# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network on every rank, gradients through unisono, and then measures
the same step without exchange and with DDP over Gloo, in turns.

    unisono run -np 2 python examples/torch/demo.py
    unisono run -np 4 python examples/torch/demo.py --steps 100 --no-compare
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from typing import Callable

import torch
import torch.distributed
import torch.nn.functional as F

import unisono.torch as hvd

CLASSES, SIDE = 10, 16


class Network(torch.nn.Sequential):
    """About two million parameters: three convolutions and two dense layers."""

    def __init__(self) -> None:
        def block(inputs: int, outputs: int) -> list[torch.nn.Module]:
            return [torch.nn.Conv2d(inputs, outputs, 3, padding=1), torch.nn.ReLU(),
                    torch.nn.MaxPool2d(2)]

        super().__init__(*block(1, 16), *block(16, 32), *block(32, 64), torch.nn.Flatten(),
                         torch.nn.Linear(64 * (SIDE // 8) ** 2, 2048), torch.nn.ReLU(),
                         torch.nn.Linear(2048, 512), torch.nn.ReLU(),
                         torch.nn.Linear(512, CLASSES))


def make_data(samples: int, rank: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """This rank's share of images that are noise around one pattern per class."""
    generator = torch.Generator().manual_seed(1)
    patterns = torch.randn(CLASSES, 1, SIDE, SIDE, generator=generator)
    labels = torch.randint(CLASSES, (samples,), generator=generator)
    images = patterns[labels] + 1.5 * torch.randn(samples, 1, SIDE, SIDE, generator=generator)
    return images[rank::size].clone(), labels[rank::size].clone()


class Progress:
    """A bar on standard error; single lines where that is no terminal."""

    def __init__(self, total: int, shown: bool) -> None:
        self.total, self.shown, self.last = total, shown, 0.0

    def show(self, done: int, text: str) -> None:
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if not self.shown or (done < self.total and now - self.last < (0.1 if terminal else 2)):
            return
        self.last = now
        filled = 30 * done // self.total
        bar = "#" * filled + "." * (30 - filled)
        start, end = ("\r", "") if terminal else ("", "\n")
        if done == self.total:
            end = "\n"
        print(f"{start}  [{bar}] {done:4d}/{self.total} {text}", end=end,
              file=sys.stderr, flush=True)


def stepper(model: torch.nn.Module, optimizer: torch.optim.Optimizer, images: torch.Tensor,
            labels: torch.Tensor, batch: int) -> Callable[[int], torch.Tensor]:
    """A function that trains on the i-th batch and returns its loss."""
    batches = max(1, len(labels) // batch)

    def step(i: int) -> torch.Tensor:
        first = (i % batches) * batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images[first:first + batch]), labels[first:first + batch])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def sgd(model: torch.nn.Module) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)


def through_unisono(model: torch.nn.Module) -> torch.optim.Optimizer:
    optimizer = hvd.DistributedOptimizer(sgd(model), named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return optimizer


def through_ddp(model: torch.nn.Module) -> torch.nn.Module:
    """DDP over Gloo, which meets at a port that rank 0 chose."""
    options = dict(world_size=hvd.size(), wait_for_workers=False)
    store = (torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, **options)
             if hvd.rank() == 0 else None)
    port = hvd.broadcast_object(store.port if store else None, 0, name="demo.port")
    store = store or torch.distributed.TCPStore("127.0.0.1", port, is_master=False, **options)
    torch.distributed.init_process_group("gloo", store=store, rank=hvd.rank(),
                                         world_size=hvd.size())
    return torch.nn.parallel.DistributedDataParallel(model)


def compare(model: torch.nn.Module, data: tuple, batch: int, rounds: int) -> dict[str, float]:
    """Median milliseconds of a step; the ways take turns, so that noise hits all of them."""
    twins = [copy.deepcopy(model) for _ in range(3)]
    ddp = through_ddp(twins[2])
    steps = {"no exchange": stepper(twins[0], sgd(twins[0]), *data, batch),
             "unisono": stepper(twins[1], through_unisono(twins[1]), *data, batch),
             "DDP over Gloo": stepper(ddp, sgd(twins[2]), *data, batch)}
    times: dict[str, list[float]] = {name: [] for name in steps}
    progress = Progress(rounds, hvd.rank() == 0)
    for turn in range(rounds):
        for name, step in steps.items():
            hvd.barrier()
            for i in range(6):
                start = time.perf_counter()
                step(turn * 6 + i)
                if i > 0:                   # the first one warms the caches again
                    times[name].append((time.perf_counter() - start) * 1e3)
        progress.show(turn + 1, "rounds measured")
    torch.distributed.destroy_process_group()
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200, help="training steps (default 200)")
    parser.add_argument("--batch", type=int, default=64, help="images per rank (default 64)")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of the comparison")
    parser.add_argument("--no-compare", action="store_true", help="train only")
    arguments = parser.parse_args()

    hvd.init()
    torch.set_num_threads(1)                # a core per rank; more would fight over them
    torch.manual_seed(hvd.rank())
    first = hvd.rank() == 0
    data = make_data(4096, hvd.rank(), hvd.size())
    model = Network()
    optimizer = through_unisono(model)
    step = stepper(model, optimizer, *data, arguments.batch)
    if first:
        parameters = sum(p.numel() for p in model.parameters())
        print(f"{hvd.size()} ranks train a network of {parameters / 1e6:.1f} M parameters, "
              f"{arguments.batch} images each a step", flush=True)
    progress = Progress(arguments.steps, first)
    start = time.perf_counter()
    for i in range(arguments.steps):
        loss = hvd.allreduce(step(i), name="loss")
        progress.show(i + 1, f"loss {loss.item():.4f}")
    images = arguments.steps * arguments.batch * hvd.size()
    seconds = time.perf_counter() - start
    hvd.check_consistent(model.named_parameters())
    if first:
        print(f"loss {loss.item():.4f}, {images / seconds:,.0f} images/s, "
              f"{seconds / arguments.steps * 1e3:.1f} ms a step; "
              "every rank holds the same parameters", flush=True)
    if not arguments.no_compare:
        if first:
            print("\nThe same step in three ways, in turns:", flush=True)
        medians = compare(model, data, arguments.batch, arguments.rounds)
        if first:
            alone = medians["no exchange"]
            for name, median in medians.items():
                print(f"  {name:14s} {median:7.2f} ms a step   exposed communication "
                      f"{max(median - alone, 0):6.2f} ms")
            print(f"  unisono takes {medians['unisono'] / medians['DDP over Gloo']:.2f} of the "
                  "time of DDP over Gloo")
    hvd.shutdown()


if __name__ == "__main__":
    main()
