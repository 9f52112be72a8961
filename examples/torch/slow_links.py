# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a network on ranks that meet only every so many steps, for links that are slow.

Each rank takes --every steps on its own data; then what has changed is averaged, and all go on from
there. --how topk sends only the largest changes, in two bits each; --how plain exchanges gradients
in every step, as data-parallel training usually does, for comparison.
"""

import argparse
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

import unisono.torch as hvd
from unisono.torch import outer

EXAMPLES = """examples:
  unisono run -np 2 python examples/torch/slow_links.py
  unisono run -np 2 python examples/torch/slow_links.py --how topk --fragments 3 --delay 2
  unisono run -np 2 python examples/torch/slow_links.py --how plain
"""
UPDATES = {"nesterov": outer.Nesterov, "average": outer.Averaging, "block": outer.BlockMomentum}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--how", choices=["allreduce", "topk", "plain"], default="allreduce")
    parser.add_argument("--steps", type=int, default=300, help="local steps")
    parser.add_argument("--every", type=int, default=30, help="local steps between outer ones")
    parser.add_argument("--update", choices=sorted(UPDATES), default="nesterov")
    parser.add_argument("--compression", choices=["none", "fp16", "bf16"], default="none",
                        help="of --how allreduce and plain")
    parser.add_argument("--fragments", type=int, default=1, help="exchanged one after the other")
    parser.add_argument("--delay", type=int, default=0, help="steps until an average is applied")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=64, help="of each rank")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def batch(args: argparse.Namespace,
          generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(args.batch_size, 8, generator=generator) * 2 - 1
    return x, torch.stack([(3 * x).sin().sum(1), x.prod(1) * 8], 1)


def optimizer_of(args: argparse.Namespace, model: nn.Module) -> torch.optim.Optimizer:
    inner = torch.optim.AdamW(model.parameters(), lr=args.lr)
    if args.how == "plain":
        return hvd.DistributedOptimizer(inner, model.named_parameters(),
                                        compression=getattr(hvd.Compression, args.compression))
    how = (dict(exchange=outer.TopK(chunk=4096, k=64, bits=2)) if args.how == "topk" else
           dict(compression=args.compression))
    return outer.OuterOptimizer(inner, model.named_parameters(), steps=args.every,
                                update=UPDATES[args.update](), fragments=args.fragments,
                                delay=args.delay, **how)


def show_progress(done: int, steps: int, loss: float) -> None:
    """A bar on a terminal; elsewhere nothing."""
    if hvd.rank() == 0 and sys.stderr.isatty():
        bar = "#" * (40 * done // steps)
        print(f"\r[{bar:<40}] {done}/{steps}  loss {loss:.4f}", end="" if done < steps else "\n",
              file=sys.stderr, flush=True)


def main() -> None:
    args = parsed()
    hvd.init()
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // hvd.local_size()))
    torch.manual_seed(args.seed)
    mine = torch.Generator().manual_seed(args.seed + 1 + hvd.rank())
    model = nn.Sequential(nn.Linear(8, args.width), nn.GELU(), nn.Linear(args.width, args.width),
                          nn.GELU(), nn.Linear(args.width, 2))
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = optimizer_of(args, model)
    loss, start = torch.zeros(()), time.perf_counter()
    for step in range(args.steps):
        x, target = batch(args, mine)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        show_progress(step + 1, args.steps, loss.item())
    if isinstance(optimizer, outer.OuterOptimizer):
        optimizer.synchronize()
    spent = time.perf_counter() - start

    hvd.check_consistent(model)
    x, target = batch(args, torch.Generator().manual_seed(args.seed))
    with torch.no_grad():
        loss = F.mse_loss(model(x), target)
    if hvd.rank() != 0:
        return
    every = args.steps * sum(4 * p.numel() for p in model.parameters())
    sent, share = every, ""
    if isinstance(optimizer, outer.OuterOptimizer):
        stats = optimizer.stats()
        sent, share = stats["sent_bytes"], f", {stats['exchange_share']:.0%} of the time in them"
    elif args.compression != "none":
        sent //= 2
    count = args.steps * args.batch_size * hvd.size()
    print(f"each rank gave {sent / 1e6:,.2f} MB to exchanges{share}; fp32 gradients of every step "
          f"are {every / 1e6:,.2f} MB, {every / sent:,.1f}x as much")
    print(f"ranks: {hvd.size()}, loss {loss.item():.4f}, {count / spent:,.0f} rows/s; "
          "parameters are equal on all ranks")


if __name__ == "__main__":
    main()
