# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients through every collective, against what they are by hand."""

import threading

import torch
from checks import check, raises, run_all

import unisono.torch as hvd

hvd.init()
ME, ALL = hvd.rank(), hvd.size()


def leaf(*shape, dtype=torch.float64):
    return torch.full(shape, float(ME + 1), dtype=dtype, requires_grad=True)


def same(result, wanted):
    wanted = torch.as_tensor(wanted, dtype=result.dtype)
    assert result.shape == wanted.shape or wanted.dim() == 0, (result.shape, wanted.shape)
    assert torch.allclose(result, wanted.expand_as(result)), (result, wanted)


@check
def allreduce_is_its_own_gradient():
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        for shape in ((), (3,), (2, 3)):
            x = leaf(*shape, dtype=dtype)
            hvd.allreduce(x, op=hvd.Sum).backward(torch.full(shape, ME + 1.0, dtype=dtype))
            same(x.grad, 3)
            x.grad = None
            hvd.allreduce(x).backward(torch.full(shape, ME + 1.0, dtype=dtype))
            same(x.grad, 1.5)
    x = leaf(3)
    result = hvd.allreduce(x, op=hvd.Sum, prescale_factor=2.0, postscale_factor=0.25, name="n")
    same(result, 1.5)
    result.sum().backward()
    same(x.grad, 1)


@check
def gradients_pass_only_where_asked_for():
    x = leaf(3)
    with torch.no_grad():
        assert not hvd.allreduce(x).requires_grad
    assert not hvd.allreduce(torch.ones(3)).requires_grad
    assert not hvd.synchronize(hvd.allreduce_async(x)).requires_grad
    assert hvd.allreduce(x).grad_fn is not None


@check
def inside_a_graph_and_twice():
    x = leaf(3)
    y = (hvd.allreduce(x * x, op=hvd.Sum, name="square") * (ME + 1)).sum()
    first, = torch.autograd.grad(y, x, create_graph=True)
    same(first, 3 * 2 * (ME + 1))
    second, = torch.autograd.grad(first.sum(), x)
    same(second, 3 * 2)
    z = hvd.allreduce(x, name="kept").sum()
    z.backward(retain_graph=True)
    z.backward()
    same(x.grad, 2)


@check
def named_backwards_may_run_in_any_order():
    x, y = leaf(2), leaf(3)
    outputs = [hvd.allreduce(x, name="first", op=hvd.Sum).sum(),
               hvd.allreduce(y, name="second", op=hvd.Sum).sum()]

    # One thread for each: the sums meet by name, whichever comes first on a rank.
    threads = [threading.Thread(target=output.backward) for output in outputs]
    for thread in threads if ME else reversed(threads):
        thread.start()
    for thread in threads:
        thread.join()
    same(x.grad, 2)
    same(y.grad, 2)


@check
def grouped_outputs_may_be_backpropagated_one_by_one():
    xs = [leaf(2), leaf(3), leaf(1)]
    outputs = hvd.grouped_allreduce(xs, name="g", op=hvd.Sum)
    for number, output in enumerate(outputs):
        output.backward(torch.full_like(output, ME + number + 1.0),
                        retain_graph=True)
    for number, x in enumerate(xs):
        same(x.grad, 3 + 2 * number)
    together = hvd.grouped_allreduce(xs + [torch.ones(2), torch.tensor([1])], op=hvd.Sum)
    for x in xs:
        x.grad = None
    sum(each.sum() for each in together[:3]).backward()
    for x in xs:
        same(x.grad, 2)


@check
def allgather_averages_and_keeps_its_own_rows():
    for shape in ((ME + 2,), (ME + 2, 3)):
        x = leaf(*shape)
        gathered = hvd.allgather(x, name="ag")
        weights = torch.arange(1.0, 6.0).view(-1, *(1,) * (len(shape) - 1)).expand_as(gathered)
        gathered.backward(weights.double() * (ME + 1))
        own = [[1, 2], [3, 4, 5]][ME]
        same(x.grad, torch.tensor(own).view(-1, *(1,) * (len(shape) - 1)).expand(shape) * 1.5)
    xs = [leaf(ME + 1), leaf(2, 2)]
    first, second = hvd.grouped_allgather(xs)
    second.sum().backward(retain_graph=True)
    first.backward(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    same(xs[0].grad, [[1], [2, 3]][ME])
    same(xs[1].grad, 1)


@check
def broadcast_gives_the_root_the_average():
    for root in range(ALL):
        x = leaf(2, 2)
        hvd.broadcast(x, root, name="b").backward(torch.full((2, 2), ME + 1.0).double())
        same(x.grad, 1.5 if ME == root else 0)


@check
def alltoall_takes_gradients_back():
    x = leaf(4)
    hvd.alltoall(x).backward(torch.arange(4.0).double() + 10 * ME)
    same(x.grad, [2 * ME, 2 * ME + 1, 10 + 2 * ME, 11 + 2 * ME])
    x = leaf(3, 2)
    received, counts = hvd.alltoall(x, [1, 2] if ME == 0 else [3, 0])
    same(counts, [[1, 3], [2, 0]][ME])
    assert not counts.requires_grad
    (received.sum() * (ME + 1)).backward()
    same(x.grad[:, 0], [[1, 2, 2], [1, 1, 1]][ME])


@check
def reducescatter_gathers_and_sum_multiplies():
    for op, factor in ((hvd.Sum, ALL), (hvd.Average, 1)):
        x = leaf(5)
        mine = hvd.reducescatter(x, op=op, name="rs")
        mine.backward(torch.full_like(mine, ME + 1.0))
        same(x.grad, torch.tensor([1, 1, 1, 2, 2]) * factor)
        xs = [leaf(3), leaf(2, 2)]
        outputs = hvd.grouped_reducescatter(xs, op=op)
        for output in outputs:
            output.sum().backward(retain_graph=True)
        for x in xs:
            same(x.grad, factor)
    x = leaf(2)
    hvd.reducescatter(x, op=hvd.Average, prescale_factor=3.0).sum().backward()
    same(x.grad, 3)
    lowest = hvd.reducescatter(x, op=hvd.Min)
    raises(ValueError, lambda: lowest.sum().backward(), "Sum or Average")


@check
def gradients_within_a_process_set():
    alone = hvd.add_process_set([1])
    if alone.included():
        x = leaf(3)
        hvd.allreduce(x, op=hvd.Sum, process_set=alone).sum().backward()
        hvd.allgather(x, process_set=alone).sum().backward()
        hvd.broadcast(x, 1, process_set=alone).sum().backward()
        hvd.alltoall(x, process_set=alone).sum().backward()
        hvd.reducescatter(x, op=hvd.Sum, process_set=alone).sum().backward()
        same(x.grad, 5)
    x = leaf(2)
    hvd.allreduce(x, op=hvd.Sum, process_set=hvd.global_process_set).sum().backward()
    same(x.grad, 2)
    hvd.remove_process_set(alone)


run_all()
