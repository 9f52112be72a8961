# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network on images of digits, as scripts written for Horovod do.

The digits are drawn here, as a pocket calculator shows them, so nothing is downloaded.
"""

import argparse
import os
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

import unisono.torch as hvd

EXAMPLES = """examples:
  unisono run -np 2 python examples/torch/mnist.py
  torchrun --standalone --nproc-per-node 2 examples/torch/mnist.py --epochs 4
  python examples/torch/mnist.py --batch-size 64
"""

# The bars of each digit: top, upper left, upper right, middle, lower left, lower right, bottom.
BARS = ["1110111", "0010010", "1011101", "1011011", "0111010",
        "1101011", "1101111", "1010010", "1111111", "1111011"]
PLACES = [(0, 2, 0, 10), (0, 10, 0, 2), (0, 10, 8, 10), (8, 10, 0, 10), (8, 18, 0, 2),
          (8, 18, 8, 10), (16, 18, 0, 10)]  # first row, end row, first column, end column


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--images", type=int, default=4000, help="for training, over all ranks")
    parser.add_argument("--batch-size", type=int, default=32, help="of each rank")
    parser.add_argument("--lr", type=float, default=0.02, help="multiplied by the number of ranks")
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--fp16", action="store_true", help="gradients travel as fp16")
    parser.add_argument("--log-every", type=int, default=20, help="batches")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def digits(count: int, seed: int) -> TensorDataset:
    """Digits near the middle, in noise."""
    random = torch.Generator().manual_seed(seed)
    clean = torch.zeros(10, 18, 10)
    for digit, bars in enumerate(BARS):
        for bar, (top, bottom, left, right) in zip(bars, PLACES):
            if bar == "1":
                clean[digit, top:bottom, left:right] = 1.0
    labels = torch.randint(10, (count,), generator=random)
    images = 0.4 * torch.randn(count, 1, 28, 28, generator=random)
    downs = torch.randint(2, 9, (count,), generator=random).tolist()
    rights = torch.randint(6, 13, (count,), generator=random).tolist()
    for image, label, down, right in zip(images, labels, downs, rights):
        image[0, down:down + 18, right:right + 10] += clean[label]
    return TensorDataset(images, labels)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 5, stride=2), nn.Conv2d(8, 16, 5, stride=2)
        self.hidden, self.out = nn.Linear(256, 64), nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.second(F.relu(self.first(x))))
        return self.out(F.relu(self.hidden(x.flatten(1))))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader, epoch: int,
          log_every: int) -> None:
    model.train()
    loader.sampler.set_epoch(epoch)
    for number, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        if number % log_every == 0 and hvd.rank() == 0:
            print(f"epoch {epoch + 1}  batch {number}/{len(loader)}  loss {loss.item():.3f}")


def tested(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    """Loss and accuracy over the test images of all ranks, of which each has seen its part."""
    model.eval()
    sums = torch.zeros(3, dtype=torch.float64)
    with torch.no_grad():
        for images, labels in loader:
            scores = model(images)
            sums += torch.tensor([F.cross_entropy(scores, labels, reduction="sum").item(),
                                  (scores.argmax(1) == labels).sum().item(), len(labels)])
    sums = hvd.allreduce(sums, name="metrics", op=hvd.Sum)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()


def main() -> None:
    args = parsed()
    hvd.init()
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // hvd.local_size()))
    torch.manual_seed(args.seed)

    training, testing = digits(args.images, seed=1), digits(max(20, args.images // 4), seed=2)
    share = dict(num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(training, args.batch_size, sampler=DistributedSampler(training, **share))
    test_loader = DataLoader(testing, 200, sampler=DistributedSampler(testing, **share))

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * hvd.size(),
                                momentum=args.momentum)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters(),
        compression=hvd.Compression.fp16 if args.fp16 else hvd.Compression.none)

    spent = 0.0
    for epoch in range(args.epochs):
        start = time.perf_counter()
        train(model, optimizer, loader, epoch, args.log_every)
        spent += time.perf_counter() - start
        loss, accuracy = tested(model, test_loader)
        if hvd.rank() == 0:
            print(f"epoch {epoch + 1}  test loss {loss:.3f}  accuracy {accuracy:.1%}")

    hvd.check_consistent(model)
    if hvd.rank() == 0:
        images = args.epochs * len(loader.sampler) * hvd.size()
        print(f"ranks: {hvd.size()}, loss {loss:.3f}, accuracy {accuracy:.1%}, "
              f"{images / spent:,.0f} images/s; parameters are equal on all ranks")


if __name__ == "__main__":
    main()
