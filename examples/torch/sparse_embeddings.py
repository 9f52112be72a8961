# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Sorts generated documents into topics with a large table of word vectors.

A document touches a few rows of the table, so its gradient is sparse, and only the rows that some
rank has touched travel. --sparse-as-dense sends the whole table instead, for comparison.
"""

import argparse
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

import unisono.torch as hvd

EXAMPLES = """examples:
  unisono run -np 2 python examples/torch/sparse_embeddings.py
  unisono run -np 2 python examples/torch/sparse_embeddings.py --sparse-as-dense
  torchrun --standalone --nproc-per-node 2 examples/torch/sparse_embeddings.py --words 500000
"""


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=50_000, help="rows of the table")
    parser.add_argument("--width", type=int, default=32, help="columns of the table")
    parser.add_argument("--topics", type=int, default=8)
    parser.add_argument("--length", type=int, default=40, help="words of a document")
    parser.add_argument("--batch-size", type=int, default=64, help="documents of each rank")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--lr", type=float, default=2.0)
    parser.add_argument("--sparse-as-dense", action="store_true")
    parser.add_argument("--log-every", type=int, default=25, help="steps")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Topics(nn.Module):
    def __init__(self, words: int, width: int, topics: int):
        super().__init__()
        self.table = nn.EmbeddingBag(words, width, mode="mean", sparse=True)
        self.out = nn.Linear(width, topics)

    def forward(self, documents: torch.Tensor) -> torch.Tensor:
        return self.out(self.table(documents))


def documents(args: argparse.Namespace,
              generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Common words are common, as in any language; every second word tells of the topic."""
    topics = torch.randint(args.topics, (args.batch_size,), generator=generator)
    uniform = torch.rand(args.batch_size, args.length, generator=generator)
    words = (args.words ** uniform).long().clamp(max=args.words - args.topics)
    telling = words - words % args.topics + topics[:, None]
    every_second = torch.arange(args.length) % 2 == 0
    return torch.where(every_second, telling, words), topics


def main() -> None:
    args = parsed()
    hvd.init()
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // hvd.local_size()))
    torch.manual_seed(args.seed)
    mine = torch.Generator().manual_seed(args.seed + 1 + hvd.rank())

    model = Topics(args.words, args.width, args.topics)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=args.lr),
        named_parameters=model.named_parameters(), sparse_as_dense=args.sparse_as_dense)

    touched, start = 0, time.perf_counter()
    for step in range(args.steps):
        inputs, topics = documents(args, mine)
        optimizer.zero_grad()
        scores = model(inputs)
        loss = F.cross_entropy(scores, topics)
        loss.backward()
        touched += inputs.unique().numel()
        optimizer.step()
        if step % args.log_every == 0 or step == args.steps - 1:
            right = (scores.argmax(1) == topics).float().mean()
            loss, right = hvd.allreduce(torch.stack([loss.detach(), right]), name="metrics")
            if hvd.rank() == 0:
                print(f"step {step + 1}/{args.steps}  loss {loss.item():.3f}  "
                      f"accuracy {right.item():.1%}")
    spent = time.perf_counter() - start

    hvd.check_consistent(model)
    if hvd.rank() == 0:
        count = args.steps * args.batch_size * hvd.size()
        sent = args.words if args.sparse_as_dense else touched / args.steps
        print(f"ranks: {hvd.size()}, loss {loss.item():.3f}, {count / spent:,.0f} documents/s, "
              f"{sent:,.0f} of {args.words:,} rows sent per rank and step; "
              "parameters are equal on all ranks")


if __name__ == "__main__":
    main()
