# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What people train with, unmodified, on backend unisono: started by torchrun, two ranks.
Argument: a folder."""

import contextlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import unisono.torch  # noqa: F401: registers the backend
from checks import Skip, check, run_all

FOLDER = sys.argv[1]
dist.init_process_group("unisono")
RANK, SIZE = dist.get_rank(), dist.get_world_size()


class Net(nn.Module):
    def __init__(self, spare=False):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.second = nn.Linear(8, 300), nn.Linear(300, 4)
        self.spare = nn.Linear(3, 3) if spare else None

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def batches(steps=4):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(steps, SIZE * 4, 8, generator=generator)


def part(batch):
    return batch[RANK * 4:RANK * 4 + 4]


def pause_of(model):
    return model.no_sync() if hasattr(model, "no_sync") else contextlib.nullcontext()


def train(model, data, accumulate=1):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for number, batch in enumerate(data):
        last = (number + 1) % accumulate == 0
        with contextlib.nullcontext() if last or accumulate == 1 else pause_of(model):
            loss = model(batch).square().mean() / accumulate
            loss.backward()
        losses.append(loss.item())
        if last:
            optimizer.step()
            optimizer.zero_grad()
    return losses


def agrees_with_one_process(model, accumulate=1, atol=1e-6):
    """Two ranks with half the batch each are one process with all of it."""
    alone = Net()
    train(alone, batches(), accumulate)
    for ours, theirs in zip(model.parameters(), alone.parameters()):
        assert torch.allclose(ours, theirs, atol=atol)


@check
def ddp():
    model = DistributedDataParallel(Net())
    train(model, [part(batch) for batch in batches()])
    agrees_with_one_process(model)


@check
def ddp_options():
    for options in ({"find_unused_parameters": True}, {"static_graph": True},
                    {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 0.001},
                    {"gradient_as_bucket_view": True, "static_graph": True}):
        model = DistributedDataParallel(Net(spare="find_unused_parameters" in options), **options)
        train(model, [part(batch) for batch in batches()])
        agrees_with_one_process(model)


@check
def ddp_no_sync():
    model = DistributedDataParallel(Net())
    train(model, [part(batch) for batch in batches()], accumulate=2)
    agrees_with_one_process(model, accumulate=2)


@check
def ddp_join_with_uneven_inputs():
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        for batch in batches()[:3 + RANK]:
            optimizer.zero_grad()
            model(part(batch)).square().mean().backward()
            optimizer.step()
    everywhere = [torch.zeros_like(model.module.first.weight) for _ in range(SIZE)]
    dist.all_gather(everywhere, model.module.first.weight.detach())
    assert torch.equal(everywhere[0], everywhere[1])


@check
def ddp_hook():
    from unisono.torch import HookState, ddp_hook
    for state in (None, HookState(), HookState(arena=False), dist.group.WORLD):
        for options in ({}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 0.001}):
            model = DistributedDataParallel(Net(), **options)
            model.register_comm_hook(state, ddp_hook)
            train(model, [part(batch) for batch in batches()])
            agrees_with_one_process(model)


@check
def ddp_hook_with_codec():
    from unisono.torch import HookState, ddp_hook
    for codec, atol in (("fp16", 1e-3), ("bf16", 1e-2)):
        model = DistributedDataParallel(Net())
        model.register_comm_hook(HookState(codec=codec), ddp_hook)
        train(model, [part(batch) for batch in batches()])
        agrees_with_one_process(model, atol=atol)


@check
def ddp_hook_that_keeps_what_it_does_not_send():
    from unisono.torch import HookState, ddp_hook
    for options in ({}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 0.001}):
        # Everything is picked, so that nothing is lost but rounding.
        for hook, state in ((ddp_hook("ef|topk:64:64|fp16"), None),
                            (ddp_hook, HookState(codec="ef|qsgd:8"))):
            model = DistributedDataParallel(Net(), **options)
            model.register_comm_hook(state, hook)
            train(model, [part(batch) for batch in batches()])
            agrees_with_one_process(model, atol=3e-2)
    try:
        ddp_hook("topk:512:4|ef")
        raise AssertionError("what makes no sense was accepted")
    except ValueError as error:
        assert "character 12" in str(error), error


@check
def ddp_with_torchs_own_hooks():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    for hook in (default_hooks.allreduce_hook, default_hooks.fp16_compress_hook):
        model = DistributedDataParallel(Net())
        model.register_comm_hook(None, hook)
        train(model, [part(batch) for batch in batches()])
        agrees_with_one_process(model, atol=1e-3)


@check
def ddp_with_sparse_gradients():
    class Words(nn.Module):
        def __init__(self, sparse):
            super().__init__()
            torch.manual_seed(3)
            self.table, self.out = nn.Embedding(20, 4, sparse=sparse), nn.Linear(4, 2)

        def forward(self, x):
            return self.out(self.table(x))

    words = torch.randint(0, 20, (3, SIZE * 5), generator=torch.Generator().manual_seed(5))
    model, alone = DistributedDataParallel(Words(True)), Words(False)
    train(model, [batch[RANK * 5:RANK * 5 + 5] for batch in words])
    train(alone, words)
    for ours, theirs in zip(model.parameters(), alone.parameters()):
        assert torch.allclose(ours, theirs, atol=1e-6)


@check
def ddp_negotiates_nothing():
    """torch's rule is one order of calls on all ranks; what the page on DDP says of it."""
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        optimizer.zero_grad()
        model(part(batches(1)[0])).square().mean().backward()
        optimizer.step()
    assert unisono.torch.stats()["control_messages"] == 0


@check
def zero_redundancy_optimizer():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = DistributedDataParallel(Net())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    for batch in batches():
        optimizer.zero_grad()
        model(part(batch)).square().mean().backward()
        optimizer.step()
    agrees_with_one_process(model)


@check
def fully_sharded():
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        raise Skip("this torch has no fully_shard")
    if not hasattr(torch.cpu.Stream(), "record_event"):
        raise Skip("this torch's fully_shard does not run on CPUs")
    from torch.distributed.device_mesh import init_device_mesh
    model = Net()
    mesh = init_device_mesh("cpu", (SIZE,))
    fully_shard(model.first, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(model, [part(batch) for batch in batches()])
    alone = Net()
    train(alone, batches())
    for ours, theirs in zip(model.parameters(), alone.parameters()):
        assert torch.allclose(ours.full_tensor(), theirs, atol=1e-6)


@check
def distributed_checkpoint():
    import torch.distributed.checkpoint as checkpoint
    if not hasattr(checkpoint, "save"):
        raise Skip("this torch has no checkpoint.save")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (SIZE,))
    whole = torch.arange(12.0).reshape(6, 2)
    state = {"sharded": distribute_tensor(whole, mesh, [Shard(0)]), "plain": torch.ones(3) * 5}
    checkpoint.save(state, checkpoint_id=f"{FOLDER}/checkpoint")
    empty = {"sharded": distribute_tensor(torch.zeros(6, 2), mesh, [Shard(0)]),
             "plain": torch.zeros(3)}
    checkpoint.load(empty, checkpoint_id=f"{FOLDER}/checkpoint")
    assert torch.equal(empty["sharded"].full_tensor(), whole)
    assert torch.equal(empty["plain"], torch.ones(3) * 5)


@check
def accelerate():
    try:
        from accelerate import Accelerator
    except ImportError:
        raise Skip("accelerate is not installed")
    # On CPUs it makes no group but Gloo's itself, and takes one that is there already.
    accelerator = Accelerator(cpu=True)
    assert accelerator.num_processes == SIZE and dist.get_backend() == "unisono"
    model = Net()
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for batch in batches():
        optimizer.zero_grad()
        accelerator.backward(model(part(batch)).square().mean())
        optimizer.step()
    agrees_with_one_process(model)
    assert accelerator.gather(torch.tensor([RANK])).tolist() == list(range(SIZE))


@check
def lightning():
    try:
        import lightning
        from lightning.pytorch.strategies import DDPStrategy
    except ImportError:
        raise Skip("lightning is not installed")
    import logging
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, batch, _):
            return self.net(batch).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    # Dealt in turn, so that the batches of the two ranks together are one of the whole.
    samples = batches().reshape(-1, 8)
    sampler = torch.utils.data.DistributedSampler(samples, SIZE, RANK, shuffle=False)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=SIZE, max_epochs=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
        use_distributed_sampler=False, strategy=DDPStrategy(process_group_backend="unisono"))
    module = Module()
    # The trainer makes the group anew, as it does in a script of its own.
    dist.destroy_process_group()
    trainer.fit(module, torch.utils.data.DataLoader(samples, 4, sampler=sampler))
    assert dist.get_backend() == "unisono"
    agrees_with_one_process(module.net)


run_all()
