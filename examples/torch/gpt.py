# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT on generated sentences: gradient accumulation, clipping, a learning-rate
schedule, and gradients that may travel as bf16.
"""

import argparse
import math
import os
import random
import time

import torch
import torch.nn.functional as F
from torch import nn

import unisono.torch as hvd

EXAMPLES = """examples:
  unisono run -np 2 python examples/torch/gpt.py
  unisono run -np 2 python examples/torch/gpt.py --compression bf16 --accumulate 4
  torchrun --standalone --nproc-per-node 2 examples/torch/gpt.py --layers 4 --width 128
"""

WORDS = {"who": ["the cat", "a dog", "my neighbour", "the old captain", "nobody"],
         "does": ["sees", "follows", "paints", "forgets", "hears"],
         "what": ["the sea", "a song", "two red boats", "the long road", "her own name"],
         "when": ["today", "at night", "in spring", "again", "before the rain"]}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=8, help="of each rank and backward pass")
    parser.add_argument("--accumulate", type=int, default=2, help="backward passes per step")
    parser.add_argument("--context", type=int, default=64, help="characters")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--warmup", type=int, default=10, help="steps")
    parser.add_argument("--clip", type=float, default=1.0, help="largest norm of the gradient")
    parser.add_argument("--compression", choices=["none", "fp16", "bf16"], default="none")
    parser.add_argument("--log-every", type=int, default=5, help="steps")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def text(sentences: int, seed: int) -> str:
    pick = random.Random(seed)
    return " ".join(" ".join(pick.choice(part) for part in WORDS.values()) + "."
                    for _ in range(sentences))


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.projection, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.projection(self.norm_in(x)).chunk(3, dim=-1)
        query, key, value = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                             for each in parts)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mix(seen.transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.wide(self.norm_out(x))))


class GPT(nn.Module):
    def __init__(self, symbols: int, context: int, width: int, heads: int, layers: int):
        super().__init__()
        self.symbol, self.place = nn.Embedding(symbols, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, symbols)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        places = torch.arange(symbols.shape[1])
        return self.out(self.norm(self.blocks(self.symbol(symbols) + self.place(places))))


def batch(data: torch.Tensor, rows: int, context: int,
          generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    starts = torch.randint(len(data) - context, (rows, 1), generator=generator)
    window = data[starts + torch.arange(context + 1)]
    return window[:, :-1], window[:, 1:]


def rate(step: int, warmup: int, steps: int) -> float:
    """A linear warm-up, then half a cosine down to a tenth."""
    if step < warmup:
        return (step + 1) / warmup
    done = (step - warmup) / max(1, steps - warmup)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * done))


def main() -> None:
    args = parsed()
    hvd.init()
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // hvd.local_size()))
    torch.manual_seed(args.seed)

    corpus = text(2000, args.seed)
    alphabet = sorted(set(corpus))
    data = torch.tensor([alphabet.index(letter) for letter in corpus])
    mine = torch.Generator().manual_seed(args.seed + 1 + hvd.rank())

    model = GPT(len(alphabet), args.context, args.width, args.heads, args.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters(),
        compression=getattr(hvd.Compression, args.compression),
        backward_passes_per_step=args.accumulate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: rate(step, args.warmup, args.steps))

    start = time.perf_counter()
    for step in range(args.steps):
        optimizer.zero_grad()
        total = torch.zeros(())
        for _ in range(args.accumulate):
            inputs, targets = batch(data, args.batch_size, args.context, mine)
            loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
            # The passes of a step add up, so each counts for its share.
            (loss / args.accumulate).backward()
            total += loss.detach() / args.accumulate
        # Clipping needs the gradients of all ranks, so the exchange ends before it.
        optimizer.synchronize()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        with optimizer.skip_synchronize():
            optimizer.step()
        schedule.step()
        if step % args.log_every == 0 or step == args.steps - 1:
            total = hvd.allreduce(total, name="loss")
            if hvd.rank() == 0:
                print(f"step {step + 1}/{args.steps}  loss {total.item():.3f}  "
                      f"gradient norm {norm.item():.2f}  lr {schedule.get_last_lr()[0]:.1e}")
    spent = time.perf_counter() - start

    hvd.check_consistent(model)
    if hvd.rank() == 0:
        letters = args.steps * args.accumulate * args.batch_size * args.context * hvd.size()
        print(f"ranks: {hvd.size()}, loss {total.item():.3f}, {letters / spent:,.0f} characters/s; "
              "parameters are equal on all ranks")


if __name__ == "__main__":
    main()
