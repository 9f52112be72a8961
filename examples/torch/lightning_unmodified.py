# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A Lightning module and trainer as anybody would write them; the strategy names the backend."""

import argparse
import logging
import time
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    import lightning
    from lightning.pytorch.strategies import DDPStrategy
except ImportError:
    raise SystemExit("this example needs Lightning: pip install lightning") from None

import unisono.torch as hvd

EXAMPLES = """examples:
  python examples/torch/lightning_unmodified.py
  python examples/torch/lightning_unmodified.py --backend gloo --epochs 4
  torchrun --standalone --nproc-per-node 2 examples/torch/lightning_unmodified.py

Lightning starts the other ranks itself, unless torchrun has done so.
"""


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=["unisono", "gloo"], default="unisono")
    parser.add_argument("--devices", type=int, default=2, help="ranks on this host")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4096, help="of data, over all ranks")
    parser.add_argument("--batch-size", type=int, default=64, help="of each rank")
    return parser.parse_args()


def spirals(rows: int) -> TensorDataset:
    """Two spirals that wind around each other; which one is a point on?"""
    random = torch.Generator().manual_seed(1)
    labels = torch.randint(2, (rows,), generator=random)
    along = 0.3 + 2.7 * torch.rand(rows, generator=random)
    angle = 2 * along + torch.pi * labels
    points = torch.stack([along * angle.cos(), along * angle.sin()], dim=1)
    return TensorDataset(points + 0.3 * torch.randn(rows, 2, generator=random), labels)


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                                 nn.Linear(128, 2))

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        points, labels = batch
        loss = nn.functional.cross_entropy(self.net(points), labels)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)


class Report(lightning.Callback):
    """One line an epoch; at the end the figures, and a check that parameters are equal."""

    def on_train_start(self, trainer: lightning.Trainer, module: Classifier) -> None:
        self.start = time.perf_counter()

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: Classifier) -> None:
        if trainer.is_global_zero:
            print(f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}  "
                  f"loss {trainer.callback_metrics['loss'].item():.3f}", flush=True)

    def on_train_end(self, trainer: lightning.Trainer, module: Classifier) -> None:
        spent = time.perf_counter() - self.start
        backend, checked = torch.distributed.get_backend(), ""
        if backend == "unisono":
            hvd.check_consistent(module)
            checked = "; parameters are equal on all ranks"
        if trainer.is_global_zero:
            rows = trainer.max_epochs * len(trainer.train_dataloader.dataset)
            print(f"ranks: {trainer.world_size}, backend {backend}, "
                  f"loss {trainer.callback_metrics['loss'].item():.3f}, {rows / spent:,.0f} "
                  f"samples/s{checked}")


def main() -> None:
    args = parsed()
    # Lightning recommends worker processes for data; this data is in memory.
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)

    lightning.seed_everything(1, verbose=False)
    loader = DataLoader(spirals(args.rows), args.batch_size, shuffle=True)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=args.devices, max_epochs=args.epochs, callbacks=[Report()],
        strategy=DDPStrategy(process_group_backend=args.backend),
        logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False)
    trainer.fit(Classifier(), loader)


if __name__ == "__main__":
    main()
