#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What training loses when only the largest gradients travel: two small models, every codec with
the same seeds, data and learning rates as dense gradients beside.

`digits` is a convolutional network on scikit-learn's images of digits (1,437 to train on, 360
held); `text` an LSTM that says the next character of Python's own reference (pydoc_data.topics,
of which the last tenth is held). All runs share one pair of ranks; nothing a codec keeps passes
from one to another, as its tensors are named after the run. Both train by SGD without momentum.
Needs torch and scikit-learn. Examples:
  bench/studies/convergence.py
  bench/studies/convergence.py --tasks digits --seeds 10 --codecs "dense,ef|topk:512:8"

Ends with status 1 where a mean over the seeds is more than --within points of accuracy below that
of dense gradients, for the codecs in --judge.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNISONO = pathlib.Path(os.environ.get("UNISONO_BIN", ROOT / ".venv" / "bin" / "unisono"))
KS = (16, 8, 4, 2)
CODECS = ["dense", *(f"ef|topk:512:{k}" for k in KS), *(f"ef|topk:512:{k}|qsgd:4" for k in KS)]
CONTEXT = 32  # characters that the LSTM sees


class Task(NamedTuple):
    """Samples are (input, target); `model` makes one from the seed torch has."""
    train: tuple[Any, Any]
    held: tuple[Any, Any]
    model: Any
    batch: int  # of each rank
    steps: int
    rate: float  # of a step without momentum


def digits(given: argparse.Namespace) -> Task:
    import torch
    from sklearn.datasets import load_digits
    from torch import nn
    found = load_digits()
    images = torch.tensor(found.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(found.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    train, held = order[:1437], order[1437:]

    def model() -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))

    return Task((images[train], labels[train]), (images[held], labels[held]), model, 32,
                given.digits_steps, 0.4)


def text(given: argparse.Namespace) -> Task:
    import torch
    from pydoc_data.topics import topics
    from torch import nn
    whole = "\n".join(topics[name] for name in sorted(topics))
    letters = {letter: number for number, letter in enumerate(sorted(set(whole)))}
    codes = torch.tensor([letters[letter] for letter in whole])
    end = len(codes) * 9 // 10

    class Next(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.letter = nn.Embedding(len(letters), 16)
            self.memory = nn.LSTM(16, 64, batch_first=True)
            self.out = nn.Linear(64, len(letters))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(self.memory(self.letter(x))[0]).transpose(1, 2)

    def cut(piece: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = (len(piece) - 1) // CONTEXT
        return (piece[:rows * CONTEXT].view(rows, CONTEXT),
                piece[1:rows * CONTEXT + 1].view(rows, CONTEXT))

    return Task(cut(codes[:end]), cut(codes[end:]), Next, 16, given.text_steps, 10.0)


TASKS = {"digits": digits, "text": text}


def trained(task: Task, name: str, seed: int, codec: str, momentum: float) -> dict[str, Any]:
    import torch
    import torch.nn.functional as F

    import unisono.torch as hvd
    torch.manual_seed(seed)
    model = task.model()
    rate = task.rate * (1 - momentum)
    inner = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
    optimizer = hvd.DistributedOptimizer(
        inner, [(f"{name}.{seed}.{codec}.{key}", one) for key, one in model.named_parameters()],
        compression="none" if codec == "dense" else codec)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, task.steps, pct_start=0.1,
                                                   cycle_momentum=False)
    random = torch.Generator().manual_seed(1000 * seed)  # all ranks draw, each takes its part
    mine = slice(hvd.rank() * task.batch, (hvd.rank() + 1) * task.batch)
    curve, recent, before, begin = [], [], counted(codec), time.perf_counter()
    for step in range(task.steps):
        picked = torch.randint(len(task.train[0]), (task.batch * hvd.size(),),
                               generator=random)[mine]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(task.train[0][picked]), task.train[1][picked])
        loss.backward()
        optimizer.step()
        schedule.step()
        recent.append(loss.item())
        if len(recent) == max(1, task.steps // 20):
            curve.append(round(statistics.mean(recent), 4))
            recent = []
    took, after = time.perf_counter() - begin, counted(codec)
    hvd.check_consistent(model)
    with torch.no_grad():
        said = model(task.held[0])
        loss = F.cross_entropy(said, task.held[1]).item()
        right = (said.argmax(1) == task.held[1]).float().mean().item()
    count = sum(one.numel() for one in model.parameters())
    packed = 4 * count if codec == "dense" else (after[1] - before[1]) / task.steps
    return {"task": name, "seed": seed, "codec": codec, "accuracy": 100 * right, "loss": loss,
            "parameters": count, "steps": task.steps, "packed_bytes_per_step": packed,
            "sent_bytes_per_step": (after[0] - before[0]) / task.steps, "seconds": took,
            "training_loss": curve}


def counted(codec: str) -> tuple[int, int]:
    """Bytes this rank has sent, and bytes it has packed by the codec."""
    import unisono
    stats = unisono.stats()
    return (stats["data_bytes"],
            sum(one["packed_bytes"] for one in stats["codecs"] if one["codec"] == codec))


def rank_main(given: argparse.Namespace) -> None:
    import torch

    import unisono.torch as hvd
    hvd.init()
    torch.set_num_threads(1)
    rows = []
    tasks = {name: TASKS[name](given) for name in given.tasks.split(",")}
    for seed in range(1, given.seeds + 1):
        for name, task in tasks.items():
            for codec in given.codecs.split(","):
                rows.append(trained(task, name, seed, codec, given.momentum))
                if hvd.rank() == 0:
                    row = rows[-1]
                    print(f"{name} seed {seed} {codec:>22}: {row['accuracy']:6.2f} % right, loss "
                          f"{row['loss']:.4f}, kB a step: {row['packed_bytes_per_step'] / 1e3:.1f} "
                          f"packed, {row['sent_bytes_per_step'] / 1e3:.1f} sent; "
                          f"{row['seconds']:.1f} s", flush=True)
        if hvd.rank() == 0:
            given.rank_out.write_text(json.dumps({"rows": rows, "torch": torch.__version__}))
    hvd.shutdown()


def summed_up(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each task and codec the mean over the seeds and its deviation; differences are seed by
    seed, from dense gradients."""
    out = []
    for task, codec in dict.fromkeys((row["task"], row["codec"]) for row in rows):
        some = [row for row in rows if (row["task"], row["codec"]) == (task, codec)]
        dense = {row["seed"]: row for row in rows if (row["task"], row["codec"]) == (task, "dense")}
        one = {"task": task, "codec": codec, "seeds": len(some)}
        one["packed_bytes_per_step"] = statistics.mean(row["packed_bytes_per_step"]
                                                       for row in some)
        for what in ("accuracy", "loss"):
            found = [row[what] for row in some]
            one[what] = statistics.mean(found)
            one[f"{what}_sd"] = statistics.stdev(found) if len(found) > 1 else 0.0
            if dense:
                one[f"{what}_from_dense"] = statistics.mean(
                    row[what] - dense[row["seed"]][what] for row in some)
        out.append(one)
    return out


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--codecs", default=",".join(CODECS), help="dense: as they are")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each codec")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--digits-steps", type=int, default=300)
    parser.add_argument("--text-steps", type=int, default=1000)
    parser.add_argument("--momentum", type=float, default=0.0,
                        help="of the optimizer; rates are then smaller by 1 - momentum")
    parser.add_argument("--judge", default="ef|topk:512:8,ef|topk:512:8|qsgd:4",
                        help="codecs that must be near dense gradients")
    parser.add_argument("--within", type=float, default=1.0, help="points of accuracy")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rank-out", type=pathlib.Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if given.rank_out:
        rank_main(given)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which ends the job, too
    out = pathlib.Path(tempfile.gettempdir()) / f"unisono-convergence-{os.getpid()}.json"
    words = [str(UNISONO), "run", "-np", str(given.ranks), sys.executable, __file__, *sys.argv[1:],
             "--rank-out", str(out)]
    try:
        # TCP, as between hosts: on one host dense gradients would go through shared memory.
        subprocess.run(words, check=True, env={**os.environ, "UNISONO_TRANSPORT": "tcp"})
        found = json.loads(out.read_text())
    finally:
        out.unlink(missing_ok=True)
    table = summed_up(found["rows"])
    for row in table:
        print(f"{row['task']:>7} {row['codec']:>22}: {row['accuracy']:6.2f} ± "
              f"{row['accuracy_sd']:.2f} % ({row.get('accuracy_from_dense', 0):+.2f}), loss "
              f"{row['loss']:.4f} ± "
              f"{row['loss_sd']:.4f}, {row['packed_bytes_per_step'] / 1e3:.2f} kB a step")
    if given.json:
        machine = f"{platform.machine()}, {os.cpu_count()} cores, torch {found['torch']}"
        given.json.write_text(json.dumps({"machine": machine, "command": sys.argv, "table": table,
                                          "results": found["rows"]}, indent=1) + "\n")
    late = [row for row in table if row["codec"] in given.judge.split(",")
            and row.get("accuracy_from_dense", 0) < -given.within]
    for row in late:
        print(f"{row['task']}, {row['codec']}: {-row['accuracy_from_dense']:.2f} points below "
              f"dense gradients, allowed are {given.within:g}")
    sys.exit(1 if late else 0)


if __name__ == "__main__":
    main()
