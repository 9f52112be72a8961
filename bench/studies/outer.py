#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Outer steps over slow links beside gradients of every step: bytes, loss and time, for a
transformer of about ten million parameters.

The job with outer steps runs on --hosts network namespaces with wires shaped to --rate: each rank
takes --every steps of AdamW, then --keep of each 4,096 changes travel in two bits each with error
feedback, and the outer rule moves all ranks (`unisono.torch.outer`). The job that exchanges
gradients in every step sees the same samples on one host, without shaped wires, since its loss does
not depend on them; --wire-steps of it run on the wires for their time. The text is a Markov chain,
so that the least possible loss is known. Needs root and torch. Examples:
  bench/studies/outer.py
  bench/studies/outer.py --steps 90 --every 15 --update average

Ends with status 1 where outer steps send less than 100 times fewer bytes, end with a loss more than
1 % above that of every step's gradients, or compute less than 95 % of the time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import hosts  # noqa: E402

UNISONO = pathlib.Path(os.environ.get("UNISONO_BIN", ROOT / ".venv" / "bin" / "unisono"))
SYMBOLS = 32


def chain():
    """For each symbol the chances of the next one, and the entropy of the chain in nats."""
    import torch
    chances = torch.softmax(
        2.5 * torch.randn(SYMBOLS, SYMBOLS, generator=torch.Generator().manual_seed(7)), 1)
    often = torch.linalg.matrix_power(chances.double(), 200)[0]
    return chances, -(often[:, None] * chances * chances.log()).sum().item()


def text(chances, rows: int, length: int, random):
    import torch
    out = torch.empty(rows, length + 1, dtype=torch.long)
    out[:, 0] = torch.randint(SYMBOLS, (rows,), generator=random)
    for place in range(length):
        out[:, place + 1] = torch.multinomial(chances[out[:, place]], 1, generator=random)[:, 0]
    return out[:, :-1], out[:, 1:]


def transformer(given: argparse.Namespace):
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.symbol = nn.Embedding(SYMBOLS, given.width)
            self.place = nn.Embedding(given.length, given.width)
            layer = nn.TransformerEncoderLayer(given.width, 8, 4 * given.width, dropout=0.0,
                                               activation="gelu", batch_first=True,
                                               norm_first=True)
            self.layers = nn.TransformerEncoder(layer, given.layers, enable_nested_tensor=False)
            self.out = nn.Linear(given.width, SYMBOLS)
            mask = nn.Transformer.generate_square_subsequent_mask(given.length)
            self.register_buffer("mask", mask)

        def forward(self, x):
            there = self.symbol(x) + self.place(torch.arange(x.shape[1]))
            return self.out(self.layers(there, mask=self.mask, is_causal=True)).transpose(1, 2)

    return Model()


def rank_main(given: argparse.Namespace) -> None:
    import torch
    import torch.nn.functional as F

    import unisono
    import unisono.torch as hvd
    from unisono.torch import outer
    hvd.init()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = transformer(given)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    inner = torch.optim.AdamW(model.parameters(), lr=given.lr)
    if given.rank_of == "outer":
        rule = {"nesterov": lambda: outer.Nesterov(given.outer_lr, given.outer_momentum),
                "average": lambda: outer.Averaging(given.outer_lr)}[given.update]()
        optimizer = outer.OuterOptimizer(inner, model.named_parameters(), steps=given.every,
                                         update=rule, exchange=outer.TopK(4096, given.keep, 2))
    else:
        optimizer = hvd.DistributedOptimizer(inner, model.named_parameters())
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(
        (step + 1) / 20, 0.05 + 0.475 * (1 + math.cos(math.pi * step / given.steps))))
    chances, entropy = chain()
    mine = torch.Generator().manual_seed(100 + hvd.rank())
    steps = given.wire_steps if given.rank_of == "wire" else given.steps
    curve, before, begin = [], unisono.stats()["data_bytes"], time.perf_counter()
    for step in range(steps):
        x, target = text(chances, given.batch, given.length, mine)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        rates.step()
        curve.append(round(loss.item(), 4))
        if hvd.rank() == 0 and (step + 1) % max(1, steps // 10) == 0:
            print(f"{given.rank_of}: step {step + 1} of {steps}, loss {curve[-1]:.4f}, "
                  f"{(time.perf_counter() - begin) / (step + 1):.2f} s a step", flush=True)
    told = {}
    if given.rank_of == "outer":
        optimizer.synchronize()
        told = dict(optimizer.stats())
    took, sent = time.perf_counter() - begin, unisono.stats()["data_bytes"] - before
    hvd.check_consistent(model)
    x, target = text(chances, 256, given.length, torch.Generator().manual_seed(5))
    with torch.no_grad():
        held = F.cross_entropy(model(x), target).item()
    if hvd.rank() == 0:
        given.rank_out.write_text(json.dumps({
            "case": given.rank_of, "steps": steps, "held_loss": held, "entropy": entropy,
            "parameters": sum(p.numel() for p in model.parameters()), "seconds": took,
            "sent_bytes": sent, "stats": told, "training_loss": curve, "torch": torch.__version__}))
    hvd.shutdown()


def job(given: argparse.Namespace, case: str, inside: hosts.Inside, shell: str) -> dict:
    """One job, on the wires or, of `every`, on this host."""
    out = pathlib.Path(tempfile.gettempdir()) / f"unisono-outer-{os.getpid()}.json"
    where, prefix = [], []
    if case != "every":
        places = ",".join(f"{hosts.address(host)}:1" for host in range(given.hosts))
        where, prefix = ["-H", places, "--rsh", shell, "--no-prefix"], inside[0]
    try:
        subprocess.run([*prefix, str(UNISONO), "run", "-np", str(given.hosts), *where,
                        sys.executable, __file__, *sys.argv[1:], "--rank-of", case,
                        "--rank-out", str(out)], check=True, timeout=3600)
        return json.loads(out.read_text())
    finally:
        out.unlink(missing_ok=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=4, help="with one rank each")
    parser.add_argument("--rate", default="100mbit", help="of the wires, as tc writes it")
    parser.add_argument("--steps", type=int, default=180, help="of each rank")
    parser.add_argument("--every", type=int, default=30, help="local steps between outer ones")
    parser.add_argument("--keep", type=int, default=512,
                        help="of each 4,096 changes, those that travel")
    parser.add_argument("--update", choices=["nesterov", "average"], default="nesterov")
    parser.add_argument("--outer-lr", type=float, default=0.7)
    parser.add_argument("--outer-momentum", type=float, default=0.5)
    parser.add_argument("--wire-steps", type=int, default=3)
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--length", type=int, default=32, help="symbols of a row")
    parser.add_argument("--batch", type=int, default=4, help="rows of each rank")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--cases", default="outer,every,wire")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rank-of", help=argparse.SUPPRESS)
    parser.add_argument("--rank-out", type=pathlib.Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def judged(found: dict[str, dict]) -> list[str]:
    """Prints what came out; returns what is not as hoped."""
    out, every, wire, wrong = found["outer"], found["every"], found["wire"], []
    # Ranks that share a host send nothing over wires, so bytes of a step are those of the wires.
    every["sent_bytes"] = wire["sent_bytes"] / wire["steps"] * every["steps"]
    fewer = every["sent_bytes"] / out["sent_bytes"]
    above = out["held_loss"] / every["held_loss"] - 1
    computing = 1 - out["stats"]["exchange_share"]
    print(f"{out['parameters'] / 1e6:.1f} million parameters, {out['steps']} steps of each rank; "
          f"least possible loss {out['entropy']:.4f}")
    for one in found.values():
        print(f"{one['case']:>6}: held loss {one['held_loss']:.4f}, sent by a rank "
              f"{one['sent_bytes'] / 1e6:,.2f} MB, {one['seconds'] / one['steps']:.2f} s a step")
    print(f"outer steps: {fewer:,.0f} times fewer bytes, loss {100 * above:+.2f} %, "
          f"{100 * computing:.1f} % of the time computing")
    wrong += [f"only {fewer:.0f} times fewer bytes"] if fewer < 100 else []
    wrong += [f"the loss is {100 * above:.2f} % above"] if above > 0.01 else []
    return wrong + ([f"only {100 * computing:.1f} % computing"] if computing < 0.95 else [])


def main() -> None:
    given = arguments()
    if given.rank_of:
        rank_main(given)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which ends the job, too
    found = {}
    with hosts.joined(given.rate, given.hosts) as inside, tempfile.TemporaryDirectory() as folder:
        if not inside:
            sys.exit("network namespaces cannot be made here; run as root, with ip and tc")
        shell = hosts.remote_shell(inside, folder)
        for case in given.cases.split(","):
            found[case] = job(given, case, inside, shell)
    if given.json:
        machine = f"{platform.machine()}, {os.cpu_count()} cores"
        given.json.write_text(json.dumps({"machine": machine, "command": sys.argv,
                                          "results": list(found.values())}, indent=1) + "\n")
    if not {"outer", "every", "wire"} <= found.keys():
        return
    wrong = judged(found)
    for line in wrong:
        print(f"not as hoped: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
