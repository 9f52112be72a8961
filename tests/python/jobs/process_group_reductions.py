# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Every operator of every reducing call, on every element type and with even and uneven parts, on
three ranks. What a call gives is compared with a fold done here, and with Gloo's answer where Gloo
has one. Argument: a store's file."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

import unisono.torch  # noqa: F401: registers the backend
from checks import Skip, check, raises, run_all

RANK, SIZE = int(os.environ["UNISONO_RANK"]), int(os.environ["UNISONO_SIZE"])
dist.init_process_group("unisono", store=dist.FileStore(sys.argv[1], SIZE), rank=RANK,
                        world_size=SIZE, timeout=timedelta(seconds=60))
GLOO = dist.new_group(backend="gloo")

Op = dist.ReduceOp
BITS = {Op.BAND: torch.bitwise_and, Op.BOR: torch.bitwise_or, Op.BXOR: torch.bitwise_xor}
NUMBERS = {Op.SUM: torch.add, Op.PRODUCT: torch.mul, Op.MIN: torch.minimum, Op.MAX: torch.maximum}
INTS = [torch.uint8, torch.int8, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
EVEN, UNEVEN = [4] * SIZE, [5, 0, 2]


def pairs():
    """Operators with the element types they are for."""
    for op in NUMBERS:
        for dtype in INTS + FLOATS:
            yield op, dtype
        yield op, torch.bool
    for op in BITS:
        for dtype in [*INTS, torch.bool]:
            yield op, dtype
    for dtype in INTS + FLOATS:
        yield Op.AVG, dtype


def data(count, dtype, rank):
    """Whole numbers so small that no order of summing or multiplying rounds."""
    return ((torch.arange(count) * 3 + rank * rank) % 5 + rank).to(dtype)


def folded(count, op, dtype):
    rows = [data(count, dtype, rank) for rank in range(SIZE)]
    if op == Op.AVG:
        total = sum(rows)
        return total / SIZE if dtype.is_floating_point else torch.div(
            total, SIZE, rounding_mode="trunc").to(dtype)
    if dtype == torch.bool and op in NUMBERS:
        return torch.stack(rows).any(0) if op in (Op.SUM, Op.MAX) else torch.stack(rows).all(0)
    result = rows[0]
    for row in rows[1:]:
        result = {**NUMBERS, **BITS}[op](result, row)
    return result


def agree(got, wanted, *what):
    assert got.dtype == wanted.dtype and got.shape == wanted.shape, (what, got, wanted)
    if what[0] == Op.AVG:
        assert torch.allclose(got.double(), wanted.double(), rtol=1e-2), (what, got, wanted)
    else:
        assert torch.equal(got, wanted), (what, got, wanted)


def of_gloo(call):
    """What Gloo makes of the same call, or None where it refuses. All ranks refuse alike."""
    try:
        return call()
    except (RuntimeError, ValueError):
        return None


def confirm(call, wanted, op, dtype):
    """call(group) gives the result of this rank."""
    agree(call(None), wanted, op, dtype, "by hand")
    theirs = of_gloo(lambda: call(GLOO))
    # Gloo takes no booleans for numbers, and wraps around where it averages whole numbers.
    if theirs is not None and dtype != torch.bool and op != Op.AVG:
        agree(theirs, wanted, op, dtype, "by Gloo")


@check
def all_reduce():
    for op, dtype in pairs():
        def call(group):
            tensor = data(7, dtype, RANK)
            dist.all_reduce(tensor, op, group=group)
            return tensor
        confirm(call, folded(7, op, dtype), op, dtype)


@check
def all_reduce_coalesced():
    for op, dtype in pairs():
        tensors = [data(n, dtype, RANK) for n in (3, 1, 6)]
        opts = dist.AllreduceCoalescedOptions()
        opts.reduceOp = op
        dist.group.WORLD.allreduce_coalesced(tensors, opts).wait()
        for tensor in tensors:
            agree(tensor, folded(tensor.numel(), op, dtype), op, dtype)


@check
def reduce():
    for root, (op, dtype) in enumerate(pairs()):
        tensor = data(7, dtype, RANK)
        dist.reduce(tensor, root % SIZE, op)
        wanted = folded(7, op, dtype) if RANK == root % SIZE else data(7, dtype, RANK)
        agree(tensor, wanted, op, dtype)


def part_of(whole, counts):
    first = sum(counts[:RANK])
    return whole[first:first + counts[RANK]]


@check
def reduce_scatter_even_and_uneven():
    for counts in (EVEN, UNEVEN):
        for op, dtype in pairs():
            def call(group):
                output = torch.zeros(counts[RANK], dtype=dtype)
                rows = list(data(sum(counts), dtype, RANK).split(counts))
                dist.reduce_scatter(output, rows, op, group=group)
                return output
            wanted = part_of(folded(sum(counts), op, dtype), counts)
            if counts == EVEN:
                confirm(call, wanted, op, dtype)
            else:  # Gloo aborts the process here instead of refusing.
                agree(call(None), wanted, op, dtype, counts)


@check
def reduce_scatter_of_one_element_each_way():
    """As in the report: two elements for rank 0, one for the others."""
    counts = [2, 1, 1]
    rows = [torch.full((n,), 1 << RANK, dtype=torch.int64) for n in counts]
    output = torch.zeros(counts[RANK], dtype=torch.int64)
    dist.reduce_scatter(output, rows, Op.BXOR)
    assert output.tolist() == [(1 << SIZE) - 1] * counts[RANK], output


@check
def reduce_scatter_tensor_and_coalesced():
    for op, dtype in pairs():
        whole = data(4 * SIZE, dtype, RANK)
        wanted = part_of(folded(4 * SIZE, op, dtype), EVEN)

        def call(group):
            output = torch.zeros(4, dtype=dtype)
            dist.reduce_scatter_tensor(output, whole, op, group=group)
            return output
        confirm(call, wanted, op, dtype)
        outputs = [torch.zeros(4, dtype=dtype), torch.zeros(4, dtype=dtype)]
        opts = dist.ReduceScatterOptions()
        opts.reduceOp = op
        call = getattr(dist.group.WORLD, "reduce_scatter_single_coalesced", None)
        call = call or dist.group.WORLD.reduce_scatter_tensor_coalesced
        call(outputs, [whole, whole.clone()], opts).wait()
        for output in outputs:
            agree(output, wanted, op, dtype, "coalesced")


@check
def sums_of_products():
    from torch._C._distributed_c10d import _make_nccl_premul_sum
    op = _make_nccl_premul_sum(0.5)
    for dtype in FLOATS:
        wanted = folded(7, Op.SUM, dtype) / 2
        tensor = data(7, dtype, RANK)
        dist.all_reduce(tensor, op)
        agree(tensor, wanted, op, dtype)
        for counts in (EVEN, UNEVEN):
            output = torch.zeros(counts[RANK], dtype=dtype)
            dist.reduce_scatter(output, list(data(sum(counts), dtype, RANK).split(counts)), op)
            agree(output, part_of(folded(sum(counts), Op.SUM, dtype) / 2, counts), op, dtype)


@check
def bits_of_floats_are_refused_by_every_call():
    for op in BITS:
        raises(ValueError, lambda: dist.all_reduce(torch.ones(3), op), "float32")
        raises(ValueError, lambda: dist.reduce(torch.ones(3), 0, op), "float32")
        raises(ValueError, lambda: dist.reduce_scatter_tensor(
            torch.ones(1), torch.ones(SIZE), op), "float32")
        raises(ValueError, lambda: dist.reduce_scatter(
            torch.ones(UNEVEN[RANK]), list(torch.ones(7).split(UNEVEN)), op), "float32")
    raises(ValueError, lambda: dist.all_reduce(torch.ones(2, dtype=torch.bool), Op.AVG), "bool")
    dist.barrier()


@check
def complex_numbers_are_added_and_nothing_else():
    """A product of pairs of real numbers is no product of complex ones."""
    def mine():
        return torch.complex(data(SIZE, torch.float32, RANK), data(SIZE, torch.float32, 1 - RANK))
    total = sum(torch.complex(data(SIZE, torch.float32, rank), data(SIZE, torch.float32, 1 - rank))
                for rank in range(SIZE))
    output = torch.zeros(1, dtype=torch.complex64)
    for op, wanted in ((Op.SUM, total), (Op.AVG, total / SIZE)):
        dist.reduce_scatter_tensor(output, mine(), op)
        assert torch.allclose(output, wanted[RANK:RANK + 1]), output
    for op in (Op.PRODUCT, Op.MIN, Op.MAX):
        for call in (lambda: dist.all_reduce(mine(), op), lambda: dist.reduce(mine(), 0, op),
                     lambda: dist.reduce_scatter_tensor(output, mine(), op),
                     lambda: dist.reduce_scatter(output, list(mine().split(1)), op)):
            raises(ValueError, call, "complex")
    dist.barrier()


@check
def strided_outputs_and_parts():
    base = torch.zeros(UNEVEN[RANK], 2, dtype=torch.int32)
    rows = [torch.stack([row, row], 1)[:, 0] for row in data(7, torch.int32, RANK).split(UNEVEN)]
    for op in (Op.SUM, Op.BXOR):
        base.zero_()
        dist.reduce_scatter(base[:, 1], rows, op)
        agree(base[:, 1].contiguous(), part_of(folded(7, op, torch.int32), UNEVEN), op)
        assert base[:, 0].abs().sum() == 0


@check
def sparse_tensors():
    """The sum of all, as Gloo gives it."""
    try:
        torch.sparse.check_sparse_tensor_invariants
    except AttributeError:
        raise Skip("this torch is too old to compare sparse tensors")
    for dtype in (torch.float32, torch.float64, torch.int64):
        def mine():
            indices = torch.tensor([[RANK, 3, 3], [0, 1, 1]])
            values = torch.tensor([RANK + 1, 10, 1], dtype=dtype)
            return torch.sparse_coo_tensor(indices, values, (5, 2))
        ours, theirs = mine(), mine()
        dist.all_reduce(ours)
        dist.all_reduce(theirs, group=GLOO)
        assert ours.is_sparse and torch.equal(ours.to_dense(), theirs.to_dense()), (ours, theirs)
    whole = torch.sparse_coo_tensor([[0, 2]], torch.full((2, 3), float(RANK)), (4, 3))
    if RANK == 1:  # A rank without entries still takes part.
        whole = torch.sparse_coo_tensor(torch.zeros(1, 0, dtype=torch.int64),
                                        torch.zeros(0, 3), (4, 3))
    dist.all_reduce(whole, Op.AVG)
    wanted = torch.zeros(4, 3)
    wanted[[0, 2]] = sum(rank for rank in range(SIZE) if rank != 1) / SIZE
    assert torch.allclose(whole.to_dense(), wanted), whole
    raises(ValueError, lambda: dist.all_reduce(torch.eye(3).to_sparse(), Op.MAX), "SUM")
    # Of other layouts torch's dispatcher knows nothing, where it is asked.
    raises((ValueError, RuntimeError), lambda: dist.all_reduce(torch.eye(3).to_sparse_csr()))
    dist.barrier()


run_all()
