# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A script for DistributedDataParallel as anybody would write it. All it knows of unisono is the
name of the backend; run it with --backend gloo to compare.
"""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

EXAMPLES = """examples:
  torchrun --standalone --nproc-per-node 2 examples/torch/ddp_unmodified.py
  torchrun --standalone --nproc-per-node 2 examples/torch/ddp_unmodified.py --backend gloo
  unisono run -np 2 python examples/torch/ddp_unmodified.py
"""


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=["unisono", "gloo"], default="unisono")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=32, help="of each rank")
    parser.add_argument("--width", type=int, default=1024, help="of the hidden layers")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--log-every", type=int, default=5, help="steps")
    return parser.parse_args()


def check_equal(model: nn.Module) -> None:
    """Every rank compares its parameters with those of rank 0."""
    for name, parameter in model.named_parameters():
        first = parameter.detach().clone()
        dist.broadcast(first, src=0)
        if not torch.equal(first, parameter):
            raise RuntimeError(f"{name} on rank {dist.get_rank()} is not that of rank 0")


def main() -> None:
    args = parsed()
    if args.backend == "unisono":
        import unisono.torch  # noqa: F401: makes the name known to torch
    dist.init_process_group(args.backend)
    rank, size = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(1)
    truth = torch.randn(64, 8)
    model = DistributedDataParallel(nn.Sequential(
        nn.Linear(64, args.width), nn.ReLU(), nn.Linear(args.width, args.width), nn.ReLU(),
        nn.Linear(args.width, 8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    torch.manual_seed(2 + rank)
    start = time.perf_counter()
    for step in range(args.steps):
        inputs = torch.randn(args.batch_size, 64)
        targets = (inputs @ truth).argmax(1)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        if rank == 0 and step % args.log_every == 0:
            print(f"step {step + 1}/{args.steps}  loss {loss.item():.3f}")
    spent = time.perf_counter() - start

    mean = loss.detach() / size
    dist.all_reduce(mean)
    check_equal(model)
    if rank == 0:
        print(f"ranks: {size}, backend {args.backend}, loss {mean.item():.3f}, "
              f"{args.steps * args.batch_size * size / spent:,.0f} samples/s; "
              "parameters are equal on all ranks")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
