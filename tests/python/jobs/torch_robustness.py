# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks train as they please: in any order, from threads, with forked workers, for long.
Arguments: a store's file, the steps that must not leak."""

import ctypes
import gc
import os
import sys
import threading

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import unisono.torch as hvd
from checks import check, run_all

LEAK_STEPS = int(sys.argv[2])
hvd.init()
ME, SIZE = hvd.rank(), hvd.size()


def model(width=32):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, width), torch.nn.Tanh(),
                               torch.nn.Linear(width, 4))


def distributed(net, **arguments):
    return hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.05),
                                    net.named_parameters(), **arguments)


def train_step(net, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def loss_curve(net, optimizer, whole=False, steps=20):
    """The loss over the whole batch at each step, whether one process has it or every rank a
    part."""
    random = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(steps):
        x, y = torch.randn(24, 16, generator=random), torch.randn(24, 4, generator=random)
        if not whole:
            x, y = x[ME::SIZE], y[ME::SIZE]
        losses.append(train_step(net, optimizer, x, y))
    curve = torch.stack(losses)
    return curve if whole else hvd.allreduce(curve, name="curve")


@check
def loss_curves_agree():
    dist.init_process_group("unisono", store=dist.FileStore(sys.argv[1], SIZE), rank=ME,
                            world_size=SIZE)
    net = model()
    wanted = loss_curve(net, torch.optim.SGD(net.parameters(), lr=0.05), whole=True)
    assert wanted[-1] < wanted[0] and len(set(wanted.tolist())) == 20, wanted
    curves = {}
    for arena in (True, False):
        net = model()
        optimizer = distributed(net, gradients_in_arena=arena)
        assert bool(optimizer.gradients_in_arena) == arena
        curves[f"arena {arena}"] = loss_curve(net, optimizer)
    for backend in ("unisono", "gloo"):
        net = DistributedDataParallel(model(), process_group=dist.new_group(backend=backend))
        curves[backend] = loss_curve(net, torch.optim.SGD(net.parameters(), lr=0.05))
    dist.destroy_process_group()
    for name, curve in curves.items():
        torch.testing.assert_close(curve, wanted, rtol=1e-5, atol=1e-6,
                                   msg=lambda text, name=name: f"{name}: {text}")
    assert torch.equal(curves["arena True"], curves["arena False"])


@check
def names_in_opposite_orders():
    for round_ in range(50):
        names = ("a", "b") if ME == 0 else ("b", "a")
        handles = {name: hvd.allreduce_async(torch.full((64,), 10.0 * ME + (name == "a")),
                                             name=name, op=hvd.Sum) for name in names}
        for name in reversed(names) if round_ % 2 else names:
            assert hvd.synchronize(handles[name]).eq(10 + 2 * (name == "a")).all()


@check
def threads_submit_at_once():
    """The rounds of a thread are waited for out of turn, and every thread has sizes of its own."""
    def work(thread):
        try:
            for first in range(0, 300, 3):
                handles = [hvd.allreduce_async_(torch.full((8 + 100 * thread,), float(ME + number)),
                                                name=f"{thread}.{number}", op=hvd.Sum)
                           for number in range(first, first + 3)]
                for number, handle in zip(range(first + 2, first - 1, -1), reversed(handles)):
                    assert hvd.synchronize(handle).eq(2 * number + 1).all(), (thread, number)
            done.append(thread)
        except BaseException as error:  # noqa: BLE001: shown by the check
            errors.append(error)

    done, errors = [], []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 1, 2, 3], errors


def collate(samples):
    """Collates in a forked worker, in which the parent's engine must refuse to work."""
    try:
        hvd.allreduce(torch.ones(1))
    except hvd.HorovodInternalError as error:
        assert "fork" in str(error), error
        return torch.stack([x for x, in samples])
    raise AssertionError("a forked worker took part in a collective")


@check
def forked_workers_are_unharmed():
    """Two epochs, so that workers end, in the middle of training, and others are forked."""
    torch.manual_seed(ME)
    data = torch.randn(64, 16)
    loader = DataLoader(TensorDataset(data), batch_size=8, num_workers=2,
                        multiprocessing_context="fork", collate_fn=collate)
    net = model()
    optimizer = distributed(net)
    assert optimizer.gradients_in_arena
    for _ in range(2):
        seen = []
        for batch in loader:
            train_step(net, optimizer, batch, torch.zeros(len(batch), 4))
            seen.append(batch)
        assert torch.equal(torch.cat(seen), data)
    weights = hvd.allgather(net[0].weight.detach()[None].contiguous(), name="weights")
    assert torch.equal(weights[0], weights[1])


def memory_kib():
    """Anonymous and shared pages: a page of a library that is read for the first time is no
    leak."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)
    with open("/proc/self/status", encoding="ascii") as status:
        fields = dict(line.split(":", 1) for line in status)
    return sum(int(fields[key].split()[0]) for key in ("RssAnon", "RssShmem"))


def growth_kib(step):
    """What so many steps add after as many as it takes to fill every cache and queue once."""
    for _ in range(LEAK_STEPS // 4):
        step()
    before, descriptors = memory_kib(), len(os.listdir("/proc/self/fd"))
    for _ in range(LEAK_STEPS):
        step()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    return memory_kib() - before


# A leaked tensor of 4 KiB a step is 4 MiB in a thousand steps, and a leaked object of a hundred
# bytes is 1 MiB in ten thousand. What remains below is the allocator's own fragmentation.
BOUND_KIB = 1024


@check
def collectives_do_not_leak():
    tensor = torch.zeros(1024)
    grown = growth_kib(lambda: hvd.allreduce_(tensor, name="tensor"))
    assert grown < BOUND_KIB, f"{grown} KiB in {LEAK_STEPS} calls"


@check
def unnamed_collectives_do_not_leak():
    """Each call has a name of its own. The order of tensors that recur is learned from the names
    of some 65,000, a hundred bytes each, until it is clear that they do not recur."""
    tensor = torch.zeros(1024)
    grown = growth_kib(lambda: hvd.allreduce(tensor))
    assert grown < BOUND_KIB + LEAK_STEPS * 200 / 1024, f"{grown} KiB in {LEAK_STEPS} calls"


@check
def training_does_not_leak():
    net, x, y = model(), torch.randn(4, 16), torch.randn(4, 4)
    optimizer = distributed(net)
    grown = growth_kib(lambda: train_step(net, optimizer, x, y))
    assert grown < BOUND_KIB, f"{grown} KiB in {LEAK_STEPS} steps"


@check
def training_without_arena_does_not_leak():
    net, x, y = model(), torch.randn(4, 16), torch.randn(4, 4)
    optimizer = distributed(net, gradients_in_arena=False)
    grown = growth_kib(lambda: train_step(net, optimizer, x, y))
    assert grown < BOUND_KIB, f"{grown} KiB in {LEAK_STEPS} steps"


run_all()
