# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Every collective of torch.distributed on backend unisono, on three ranks. Argument: a store's
file."""

import time

import torch
import torch.distributed as dist

import unisono
import unisono.torch as hvd
from checks import Skip, check, raises, run_all
from process_group_support import DTYPES, RANK, SIZE, TORCH, everyone, mine, same, start


@check
def world_engine_is_the_default_engine():
    assert dist.get_backend() == "unisono"
    assert unisono.is_initialized() and (unisono.rank(), unisono.size()) == (RANK, SIZE)


@check
def all_reduce_of_every_type_and_shape():
    for dtype in DTYPES:
        for shape in [(), (1,), (7,), (4, 3), (2, 3, 4), (0,)]:
            tensor = mine(*shape, dtype=dtype)
            dist.all_reduce(tensor)
            same(tensor, sum(everyone(*shape, dtype=dtype)).to(dtype))


@check
def all_reduce_operators():
    rows = torch.stack(everyone(9))
    for op, wanted in [(dist.ReduceOp.MIN, rows.amin(0)), (dist.ReduceOp.MAX, rows.amax(0)),
                       (dist.ReduceOp.PRODUCT, rows.prod(0)), (dist.ReduceOp.AVG, rows.mean(0))]:
        tensor = mine(9)
        dist.all_reduce(tensor, op)
        assert torch.allclose(tensor, wanted), op
    for op, fold in [(dist.ReduceOp.BAND, torch.bitwise_and),
                     (dist.ReduceOp.BOR, torch.bitwise_or),
                     (dist.ReduceOp.BXOR, torch.bitwise_xor)]:
        wanted, *others = everyone(9, dtype=torch.int32)
        for other in others:
            wanted = fold(wanted, other)
        tensor = mine(9, dtype=torch.int32)
        dist.all_reduce(tensor, op)
        same(tensor, wanted)


@check
def all_reduce_bool_and_complex():
    for op, wanted in [(dist.ReduceOp.MAX, True), (dist.ReduceOp.MIN, False),
                       (dist.ReduceOp.BOR, True), (dist.ReduceOp.BAND, False),
                       (dist.ReduceOp.SUM, True), (dist.ReduceOp.PRODUCT, False)]:
        tensor = torch.tensor([RANK == 0, True])
        dist.all_reduce(tensor, op)
        same(tensor, torch.tensor([wanted, True]))
    tensor = torch.complex(mine(4), -mine(4))
    dist.all_reduce(tensor)
    same(tensor, torch.complex(sum(everyone(4)), -sum(everyone(4))))


@check
def strided_tensors():
    base = torch.zeros(6, 4)
    base[::2, 1::2] = mine(3, 2)
    dist.all_reduce(base[::2, 1::2])
    same(base[::2, 1::2], sum(everyone(3, 2)))
    assert base[1::2].abs().sum() == 0 and base[:, ::2].abs().sum() == 0
    turned = mine(3, 5).t()
    dist.broadcast(turned, 1)
    same(turned, mine(3, 5, rank=1).t())
    output = torch.zeros(SIZE * 4, 6)[:, ::2]
    dist.all_gather_into_tensor(output, mine(3, 4).t())
    same(output, torch.cat([each.t() for each in everyone(3, 4)]))


@check
def broadcast_and_reduce():
    # The last is a type the engine does not know; it can be moved all the same.
    unknown = [torch.float8_e5m2fnuz] if hasattr(torch, "float8_e5m2fnuz") else []
    for dtype in [*DTYPES, torch.bool, torch.complex64, *unknown]:
        tensor = mine(3, 2).to(dtype)
        dist.broadcast(tensor, SIZE - 1)
        same(tensor.float() if not dtype.is_complex else tensor.real,
             mine(3, 2, rank=SIZE - 1).to(dtype).to(torch.float32))
    tensor = mine(5)
    dist.reduce(tensor, 1)
    same(tensor, sum(everyone(5)) if RANK == 1 else mine(5))


@check
def all_gather_forms():
    outputs = [torch.zeros(2, 3) for _ in range(SIZE)]
    dist.all_gather(outputs, mine(2, 3))
    for got, wanted in zip(outputs, everyone(2, 3)):
        same(got, wanted)
    outputs = [torch.zeros(rank + 1) for rank in range(SIZE)]
    dist.all_gather(outputs, mine(RANK + 1))
    for rank, got in enumerate(outputs):
        same(got, mine(rank + 1, rank=rank))
    for dtype in (torch.float32, torch.bfloat16, torch.bool):
        output = torch.zeros(SIZE * 2, 3, dtype=dtype)
        dist.all_gather_into_tensor(output, mine(2, 3).to(dtype))
        same(output, torch.cat(everyone(2, 3)).to(dtype))
    lists = [[torch.zeros(n) for _ in range(SIZE)] for n in (2, 5)]
    dist.all_gather_coalesced(lists, [mine(2), mine(5)])
    same(lists[1][SIZE - 1], mine(5, rank=SIZE - 1))
    raises(ValueError, lambda: dist.all_gather_into_tensor(torch.zeros(5), mine(3)), "elements")


@check
def reduce_scatter_forms():
    wanted = sum(everyone(SIZE, 4))[RANK]
    output = torch.zeros(4)
    dist.reduce_scatter(output, list(mine(SIZE, 4)))
    same(output, wanted)
    output.zero_()
    dist.reduce_scatter_tensor(output, mine(SIZE, 4).reshape(-1))
    same(output, wanted)
    dist.reduce_scatter_tensor(output, mine(SIZE, 4).reshape(-1), op=dist.ReduceOp.AVG)
    assert torch.allclose(output, wanted / SIZE)
    sizes = [rank + 1 for rank in range(SIZE)]
    output = torch.zeros(sizes[RANK])
    dist.reduce_scatter(output, [mine(n) for n in sizes])
    same(output, sum(everyone(sizes[RANK])))
    whole = torch.zeros(2, dtype=torch.int64)
    dist.reduce_scatter_tensor(whole, mine(SIZE * 2, dtype=torch.int64), op=dist.ReduceOp.BXOR)
    folded = everyone(SIZE * 2, dtype=torch.int64)
    folded = folded[0] ^ folded[1] ^ folded[2]
    same(whole, folded.reshape(SIZE, 2)[RANK])


@check
def gather_and_scatter():
    outputs = [torch.zeros(2, 2) for _ in range(SIZE)] if RANK == 1 else None
    dist.gather(mine(2, 2), outputs, dst=1)
    if RANK == 1:
        for got, wanted in zip(outputs, everyone(2, 2)):
            same(got, wanted)
    output = torch.zeros(3, dtype=torch.bfloat16)
    rows = everyone(3, dtype=torch.bfloat16) if RANK == 2 else None
    dist.scatter(output, rows, src=2)
    same(output, mine(3, dtype=torch.bfloat16))


@check
def all_to_all_forms():
    inputs = [torch.full((rank + 1,), float(10 * RANK + rank)) for rank in range(SIZE)]
    outputs = [torch.zeros(RANK + 1) for _ in range(SIZE)]
    dist.all_to_all(outputs, inputs)
    for rank, got in enumerate(outputs):
        same(got, torch.full((RANK + 1,), float(10 * rank + RANK)))
    output = torch.zeros(SIZE, 2, dtype=torch.int64)
    dist.all_to_all_single(output, torch.full((SIZE, 2), RANK))
    same(output, torch.arange(SIZE).reshape(-1, 1).expand(-1, 2))
    sent = torch.full((sum(range(SIZE)), 2), float(RANK))
    output = torch.zeros(RANK * SIZE, 2)
    dist.all_to_all_single(output, sent, [RANK] * SIZE, list(range(SIZE)))
    same(output, torch.arange(SIZE).float().repeat_interleave(RANK).reshape(-1, 1).expand(-1, 2))
    raises(ValueError, lambda: dist.all_to_all_single(torch.zeros(SIZE), torch.zeros(SIZE + 1)))


@check
def objects():
    gathered = [None] * SIZE
    dist.all_gather_object(gathered, {"rank": RANK, "text": "x" * RANK})
    assert [each["rank"] for each in gathered] == list(range(SIZE))
    said = [("from", RANK), RANK]
    dist.broadcast_object_list(said, src=1)
    assert said == [("from", 1), 1]
    heard = [None]
    dist.scatter_object_list(heard, [f"for {rank}" for rank in range(SIZE)], src=0)
    assert heard == [f"for {RANK}"]
    collected = [None] * SIZE if RANK == 0 else None
    dist.gather_object(RANK, collected, dst=0)
    assert RANK or collected == list(range(SIZE))


@check
def works_and_futures():
    works = [dist.all_reduce(mine(100), async_op=True) for _ in range(20)]
    for work in works:
        assert work.wait() and work.is_completed()
    tensor = mine(6)
    future = dist.all_reduce(tensor, async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2)
    same(doubled.wait(), 2 * sum(everyone(6)))
    same(tensor, sum(everyone(6)))
    output = torch.zeros(SIZE)
    work = dist.all_gather_into_tensor(output, mine(1), async_op=True)
    while not work.is_completed():
        time.sleep(0.001)
    same(output, torch.cat(everyone(1)))
    dropped = mine(1000)
    dist.all_reduce(dropped, async_op=True)
    dist.barrier()


@check
def coalesced():
    tensors = [mine(3), mine(2, 2), mine(1)]
    group = dist.group.WORLD
    group.allreduce_coalesced(tensors).wait()
    for tensor in tensors:
        same(tensor, sum(everyone(*tensor.shape)))
    if TORCH < (2, 1):
        return
    from torch.distributed.distributed_c10d import _coalescing_manager
    outputs = [torch.zeros(SIZE * n) for n in (1, 4)]
    with _coalescing_manager(async_ops=True) as manager:
        for output, n in zip(outputs, (1, 4)):
            dist.all_gather_into_tensor(output, mine(n))
    manager.wait()
    same(outputs[1], torch.cat(everyone(4)))
    a, b = mine(3), mine(4)
    with _coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        dist.broadcast(a, 0)
        dist.broadcast(b, 1)
    manager.wait()
    same(a, mine(3, rank=0))
    same(b, mine(4, rank=1))


@check
def functional_collectives():
    if TORCH < (2, 3):
        raise Skip("torch's functional collectives do not reach Python groups before 2.3")
    import torch.distributed._functional_collectives as functional
    same(functional.all_reduce(mine(4), "sum", dist.group.WORLD) + 0, sum(everyone(4)))
    same(functional.all_gather_tensor(mine(2), 0, dist.group.WORLD) + 0, torch.cat(everyone(2)))
    same(functional.reduce_scatter_tensor(mine(SIZE), "sum", 0, dist.group.WORLD) + 0,
         sum(everyone(SIZE))[RANK:RANK + 1])


@check
def single_numbers_and_nothing_at_all():
    """Tensors without a dimension and without elements, through every call."""
    for shape in ((), (0,), (2, 0)):
        tensor = mine(*shape)
        dist.all_reduce(tensor)
        same(tensor, sum(everyone(*shape)))
        for dtype in (torch.float32, torch.bool, torch.complex64, torch.uint8):
            tensor = mine(*shape).to(dtype)
            dist.broadcast(tensor, 1)
            same(tensor, mine(*shape, rank=1).to(dtype))
        tensor = mine(*shape)
        dist.reduce(tensor, 0)
        same(tensor, sum(everyone(*shape)) if RANK == 0 else mine(*shape))
        rows = [torch.zeros(shape) for _ in range(SIZE)]
        dist.all_gather(rows, mine(*shape))
        same(torch.stack(rows), torch.stack(everyone(*shape)))
        output = torch.zeros(SIZE * mine(*shape).numel())
        dist.all_gather_into_tensor(output, mine(*shape))
        same(output, torch.stack(everyone(*shape)).reshape(-1))
        output = torch.zeros(shape)
        dist.reduce_scatter(output, everyone(*shape))
        same(output, SIZE * mine(*shape))
        output = torch.zeros(shape)
        dist.scatter(output, everyone(*shape) if RANK == 0 else None, src=0)
        same(output, mine(*shape))
        rows = [torch.zeros(shape) for _ in range(SIZE)] if RANK == 0 else None
        dist.gather(mine(*shape), rows, dst=0)
        if rows:
            same(torch.stack(rows), torch.stack(everyone(*shape)))
        rows = [torch.zeros(shape) for _ in range(SIZE)]
        dist.all_to_all(rows, [mine(*shape) for _ in range(SIZE)])
        same(torch.stack(rows), torch.stack(everyone(*shape)))
        output = torch.zeros(shape)
        work = dist.isend(mine(*shape), (RANK + 1) % SIZE)
        dist.recv(output, (RANK - 1) % SIZE)
        work.wait()
        same(output, mine(*shape, rank=(RANK - 1) % SIZE))


@check
def parameters_can_be_given_as_they_are():
    """Tensors that require a gradient: the call overwrites them, and autograd hears nothing of it."""
    for call, wanted in [(lambda p: dist.all_reduce(p), sum(everyone(4))),
                         (lambda p: dist.broadcast(p, 1), mine(4, rank=1)),
                         (lambda p: dist.all_reduce(p.t(), dist.ReduceOp.MAX), mine(4, rank=2))]:
        parameter = torch.nn.Parameter(mine(4))
        call(parameter)
        same(parameter.detach(), wanted)
    rows = [torch.nn.Parameter(torch.zeros(4)) for _ in range(SIZE)]
    dist.all_gather(rows, torch.nn.Parameter(mine(4)))
    output = torch.nn.Parameter(torch.zeros(4))
    dist.scatter(output, rows if RANK == 0 else None, src=0)
    same(output.detach(), mine(4))
    strided = torch.nn.Parameter(torch.zeros(4, 2))
    dist.broadcast(strided[:, 0].detach() if RANK == 0 else strided[:, 0], 0)
    assert output.grad_fn is None and output.requires_grad


@check
def names_of_the_caller_meet_none_of_the_group():
    handles = [hvd.allreduce_async(torch.ones(2), name=f"call.noname.{number}", op=hvd.Sum)
               for number in range(50)]
    for _ in range(10):
        tensor = mine(3)
        dist.all_reduce(tensor)
        same(tensor, sum(everyone(3)))
    for handle in handles:
        same(hvd.synchronize(handle), torch.full((2,), float(SIZE)))


start()
run_all()
