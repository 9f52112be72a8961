# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Every collective of unisono.torch on several ranks."""

import gc

import torch

import unisono
import unisono.torch as hvd
from checks import check, raises, run_all
from torch_support import ALL, ME, same

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


@check
def who_is_who():
    assert ALL == 3 and hvd.local_rank() == ME and hvd.local_size() == ALL
    assert (hvd.cross_rank(), hvd.cross_size()) == (0, 1) and hvd.is_homogeneous()
    assert hvd.allgather_object(ME) == [0, 1, 2]


@check
def allreduce_of_every_type_and_dimension():
    mine, all_values = ME + 1, [1, 2, 3]
    wanted = {hvd.Sum: 6, hvd.Average: 2, hvd.Min: 1, hvd.Max: 3, hvd.Product: 6}
    assert all_values[ME] == mine
    for dtype in FLOATS + INTEGERS:
        for shape in ((), (5,), (3, 4), (2, 3, 4)):
            for op, value in wanted.items():
                given = torch.full(shape, mine, dtype=dtype)
                result = hvd.allreduce(given, op=op)
                assert result.dtype == dtype and result.shape == shape
                same(result, value)
                same(given, mine)
                assert hvd.allreduce_(given, op=op) is given
                same(given, value)


@check
def booleans():
    given = torch.tensor([ME == 0, True, False])
    assert hvd.allreduce(given, op=unisono.Or).tolist() == [True, True, False]
    assert hvd.allreduce_(given, op=unisono.And).tolist() == [False, True, False]
    assert hvd.allgather(torch.tensor([ME == 1])).tolist() == [False, True, False]
    assert hvd.broadcast(torch.tensor([ME == 2]), 2).tolist() == [True]


@check
def asynchronous_handles():
    handles = [hvd.allreduce_async_(torch.full((3,), float(ME)), name=f"h{i}", op=hvd.Sum)
               for i in range(10)]
    assert all(hvd.poll(handle) in (True, False) for handle in handles)
    for handle in reversed(handles):
        same(hvd.synchronize(handle), 3)
        assert hvd.poll(handle)
        same(hvd.synchronize(handle), 3)
    given = torch.tensor([float(ME)])
    handle = hvd.allreduce_async(given, op=hvd.Sum)
    result = hvd.synchronize(handle)
    same(result, 3)
    same(given, ME)


@check
def arguments_by_position():
    x = torch.full((2,), float(ME))
    same(hvd.allreduce(x, False, "p1", hvd.Compression.fp16), 3)
    same(hvd.allreduce(x, None, "p2", hvd.Compression.none, hvd.Max), 2)
    same(hvd.allreduce(x, None, "p3", hvd.Compression.none, hvd.Sum, 2.0, 0.5), 3)
    same(hvd.allreduce_(x.clone(), None, "p4", hvd.Sum), 3)
    same(hvd.allreduce_(x.clone(), True, "p5"), 1)
    same(hvd.synchronize(hvd.allreduce_async(x, None, "p6", hvd.Min)), 0)
    same(hvd.allgather(x[:1], "p7"), [0, 1, 2])
    same(hvd.broadcast(x, 1, "p8"), 1)
    raises(ValueError, lambda: hvd.allreduce(x, True, op=hvd.Sum), "not both")
    raises(ValueError, lambda: hvd.allreduce_async_(x, average=False, op=hvd.Sum), "not both")


@check
def integers_are_averaged_by_truncation():
    same(hvd.allreduce(torch.tensor([ME, -ME, ME + 2, -ME - 2])), [1, -1, 3, -3])
    same(hvd.allreduce(torch.tensor([1 if ME == 0 else 0, -1 if ME == 0 else 0, 5, -5])),
         [0, 0, 5, -5])
    same(hvd.allreduce(torch.tensor([2, -2], dtype=torch.int8) * (ME > 0)), [1, -1])


@check
def scales():
    same(hvd.allreduce(torch.full((2,), 2.0), op=hvd.Sum, prescale_factor=0.5), 3)
    same(hvd.allreduce(torch.full((2,), 2.0), op=hvd.Sum, postscale_factor=0.25), 1.5)
    half = hvd.allreduce(torch.full((2,), 1.0, dtype=torch.float16), op=hvd.Sum,
                         prescale_factor=0.5, postscale_factor=4.0)
    assert half.dtype == torch.float16
    same(half, 6)
    # Integers are rounded towards zero before they are added up, and once more at the end.
    same(hvd.allreduce(torch.tensor([3, -3]), op=hvd.Sum, prescale_factor=0.5), [3, -3])
    same(hvd.allreduce(torch.tensor([3, -3]), op=hvd.Sum, postscale_factor=0.5), [4, -4])
    # An fp32 factor of a number this large would lose its last digits.
    large = 2 ** 40 + 2
    same(hvd.allreduce(torch.tensor([large]), op=hvd.Sum, prescale_factor=0.5), 3 * large // 2)
    same(hvd.grouped_allreduce([torch.ones(2)], op=hvd.Sum, prescale_factor=2.0)[0], 6)


@check
def grouped_allreduce_in_four_forms():
    def tensors():
        return [torch.full((i + 1,), float(ME + i)) for i in range(5)] + [torch.tensor([ME])]

    wanted = [3.0 + 3 * i for i in range(5)] + [3]
    for results in (hvd.grouped_allreduce(tensors(), name="g", op=hvd.Sum),
                    hvd.grouped_allreduce_(tensors(), name="g", op=hvd.Sum),
                    hvd.synchronize(hvd.grouped_allreduce_async(tensors(), op=hvd.Sum)),
                    hvd.synchronize(hvd.grouped_allreduce_async_(tensors(), None, "g", hvd.Sum))):
        assert len(results) == 6
        for result, value in zip(results, wanted):
            same(result, value)
    given = tensors()
    for result, tensor in zip(hvd.grouped_allreduce_(given, average=False), given):
        assert result is tensor
    same(hvd.grouped_allreduce(tensors())[0], 1)
    assert "grouped_allreduce.n_1of2, grouped_allreduce.n_2of2" in repr(
        hvd.grouped_allreduce_async([torch.ones(1)] * 2, name="n"))
    hvd.barrier()


@check
def names():
    one = torch.ones(1)
    handles = [hvd.allreduce_async(one, name="mine"), hvd.allgather_async(one, name="mine"),
               hvd.allreduce_async(one), hvd.allgather_async(one)]
    for handle, text in zip(handles, ("allreduce.mine", "allgather.mine", "allreduce.noname.",
                                      "allgather.noname.")):
        assert f" {text}" in repr(handle), repr(handle)
    counts = [int(repr(handle).split("noname.")[1].split()[0]) for handle in handles[2:]]
    assert counts[1] == counts[0] + 1, "unnamed operations share one count"
    for handle in handles:
        hvd.synchronize(handle)


@check
def allgather_of_different_rows():
    for dtype in FLOATS + INTEGERS + [torch.bool]:
        rows = hvd.allgather(torch.full((ME + 1, 2), ME, dtype=dtype))
        assert rows.shape == (6, 2) and rows.dtype == dtype
        same(rows[:, 0], torch.tensor([0, 1, 1, 2, 2, 2]).to(dtype))
    same(hvd.allgather(torch.full((0 if ME == 1 else 2,), float(ME))), [0, 0, 2, 2])
    assert hvd.allgather(torch.ones(0, 3)).shape == (0, 3)
    same(hvd.synchronize(hvd.allgather_async(torch.tensor([ME]), "a")), [0, 1, 2])
    first, second = hvd.grouped_allgather([torch.tensor([ME]), torch.ones(ME, 2)], name="g")
    same(first, [0, 1, 2])
    assert second.shape == (3, 2)
    same(hvd.synchronize(hvd.grouped_allgather_async([torch.tensor([ME])]))[0], [0, 1, 2])
    raises(ValueError, lambda: hvd.allgather_async(torch.tensor(1.0)))


@check
def broadcast_from_every_root():
    for root in range(ALL):
        for dtype in FLOATS + INTEGERS:
            given = torch.full((2, 3), ME, dtype=dtype)
            same(hvd.broadcast(given, root), root)
            same(given, ME)
            assert hvd.broadcast_(given, root_rank=root) is given
            same(given, root)
    same(hvd.synchronize(hvd.broadcast_async(torch.tensor(float(ME)), 2, name="b")), 2)
    same(hvd.synchronize(hvd.broadcast_async_(torch.tensor([ME]), 1, name="b")), 1)


@check
def alltoall_gives_a_tuple_only_with_splits():
    result = hvd.alltoall(torch.arange(6) + 10 * ME)
    assert isinstance(result, torch.Tensor)
    same(result, [2 * ME + i + 10 * r for r in range(3) for i in range(2)])
    for splits in ([ME, 0, 1], torch.tensor([ME, 0, 1]), torch.tensor([ME, 0, 1]).int()):
        received, counts = hvd.alltoall(torch.full((ME + 1,), float(ME)), splits)
        assert counts.dtype == torch.int32
        same(counts, [[0, 1, 2], [0, 0, 0], [1, 1, 1]][ME])
        same(received, [[1, 2, 2], [], [0, 1, 2]][ME])
    received, counts = hvd.synchronize(hvd.alltoall_async(torch.ones(3, 2), [1, 1, 1], "a"))
    assert received.shape == (3, 2)
    same(counts, 1)
    assert hvd.synchronize(hvd.alltoall_async(torch.ones(3, 2))).shape == (3, 2)


@check
def reducescatter_gives_the_remainder_to_earlier_ranks():
    for dtype in FLOATS + INTEGERS:
        given = torch.arange(5).to(dtype)
        mine = [[0, 1], [2, 3], [4]][ME]
        same(hvd.reducescatter(given, op=hvd.Sum), [3 * each for each in mine])
        same(hvd.reducescatter(given), mine)
    same(hvd.reducescatter(torch.ones(3, 2), "r", hvd.Compression.fp16, hvd.Sum), [[3.0, 3.0]])
    same(hvd.synchronize(hvd.reducescatter_async(torch.ones(3), "r", hvd.Sum)), 3)
    same(hvd.reducescatter(torch.ones(3), op=hvd.Sum, prescale_factor=2.0,
                           postscale_factor=0.5), 3)
    first, second = hvd.grouped_reducescatter([torch.ones(3), torch.arange(4)], op=hvd.Sum)
    same(first, [3])
    same(second, [[0, 3], [6], [9]][ME])
    same(hvd.synchronize(hvd.grouped_reducescatter_async([torch.ones(3)]))[0], [1])
    raises(RuntimeError, lambda: hvd.reducescatter(torch.ones(3), op=hvd.Adasum), "Adasum")
    raises(RuntimeError, lambda: hvd.reducescatter_async(torch.ones(3), op=hvd.Adasum))


@check
def sparse_tensors():
    def given(dtype=torch.float32):
        return torch.sparse_coo_tensor([[ME, 3]], torch.tensor([1, 2]).to(dtype), (5,))

    finish = hvd.sparse_allreduce_async(given(), "s", hvd.Sum)
    assert callable(finish)
    same(finish().to_dense(), [1, 1, 1, 6, 0])
    finish = hvd.sparse_allreduce_async(given(), name="s", op=hvd.Average)
    assert torch.allclose(finish().to_dense(), torch.tensor([1, 1, 1, 6, 0]) / 3)
    same(hvd.sparse_allreduce_async(given(torch.int64), op=hvd.Sum)().to_dense(), [1, 1, 1, 6, 0])
    rows = torch.sparse_coo_tensor([[ME, ME]], [[1.0, 2.0]] * 2, (4, 2))
    same(hvd.sparse_allreduce_async(rows, "twice", hvd.Sum)().to_dense()[ME], [2, 4])
    empty = torch.sparse_coo_tensor(torch.zeros(1, 0).long(), torch.zeros(0), (5,))
    same(hvd.synchronize(hvd.sparse_allreduce_async(empty if ME else given(), "e",
                                                    hvd.Sum)).to_dense(), [1, 0, 0, 2, 0])
    raises(ValueError, lambda: hvd.sparse_allreduce_async(torch.ones(3)), "allreduce_async")
    raises(ValueError, lambda: hvd.sparse_allreduce_async(given(), op=hvd.Max), "Sum or Average")


@check
def adasum_adds_what_is_orthogonal_and_averages_what_is_parallel():
    for dtype in FLOATS:
        parallel = torch.tensor([1.0, -2.0, 0.5, 4.0]).to(dtype)
        result = hvd.allreduce(parallel, op=hvd.Adasum, name="parallel")
        assert result.dtype == dtype and torch.allclose(result, parallel, rtol=1e-2)
        orthogonal = torch.zeros(6, dtype=dtype)
        orthogonal[2 * ME] = ME + 1.0
        result = hvd.allreduce_(orthogonal, op=hvd.Adasum, name="orthogonal")
        same(result, [1, 0, 2, 0, 3, 0])
    raises(ValueError, lambda: hvd.allreduce_async(torch.ones(2).int(), op=hvd.Adasum))


@check
def strided_and_zero_dimensional_tensors():
    base = torch.zeros(4, 6)
    view = base.t()[::2]
    view.fill_(ME + 1)
    assert hvd.allreduce_(view, op=hvd.Sum) is view
    same(view, 6)
    same(base[:, 1::2], 0)
    same(hvd.allreduce(torch.ones(3, 2).t(), op=hvd.Sum), 3)
    same(hvd.allreduce(torch.ones(1).expand(4), op=hvd.Sum), 3)
    single = torch.tensor(float(ME))
    assert hvd.allreduce_(single, op=hvd.Sum) is single and single.item() == 3
    half = torch.full((4, 4), ME, dtype=torch.bfloat16)[:, ::3]
    same(hvd.broadcast_(half, 2), 2)
    flags = torch.zeros(4, 4, dtype=torch.bool)[:, ::2]
    hvd.broadcast_(flags.fill_(ME == 1), 1)
    assert flags.all()
    negated = torch.conj(torch.tensor([1j * (ME + 1)])).imag
    assert negated.is_neg()
    same(hvd.allreduce(negated, op=hvd.Sum), -6)
    same(hvd.allreduce_(negated, op=hvd.Sum), -6)


@check
def leaves_that_require_gradients_are_written_in_place():
    leaf = torch.full((3,), float(ME), requires_grad=True)
    assert hvd.allreduce_(leaf, op=hvd.Sum) is leaf and leaf.requires_grad and leaf.is_leaf
    same(leaf.detach(), 3)
    parameter = torch.nn.Parameter(torch.full((2, 2), float(ME)))
    hvd.broadcast_(parameter, 1)
    same(parameter.data, 1)
    hvd.synchronize(hvd.grouped_allreduce_async_([leaf, parameter], op=hvd.Sum))
    same(leaf.detach(), 9)


@check
def tensors_live_until_their_operation_ends():
    handles = [hvd.allreduce_async_(torch.full((50000,), float(ME)), name=f"alive.{i}", op=hvd.Sum)
               for i in range(20)]
    handles += [hvd.allgather_async(torch.full((5000,), float(ME)), name=f"alive.{i}")
                for i in range(20)]
    gc.collect()
    torch.full((100000,), 7.0)
    for handle in handles[:20]:
        same(hvd.synchronize(handle), 3)
    for handle in handles[20:]:
        same(hvd.synchronize(handle).view(3, -1), torch.arange(3.0)[:, None].expand(3, 5000))


@check
def compression():
    class Thirds(hvd.Compressor):
        @staticmethod
        def compress(tensor):
            return tensor / 3, "context"

        @staticmethod
        def decompress(tensor, context):
            assert context == "context"
            return tensor * 3

    x = torch.tensor([1.0, 1 + 2 ** -9, 1 + 2 ** -20]) * (ME + 1)
    same(hvd.allreduce(x, name="c", op=hvd.Sum), x / (ME + 1) * 6)
    for kind, bits in ((hvd.Compression.fp16, 10), (hvd.Compression.bf16, 7)):
        for compression in (kind, kind()):
            result = hvd.allreduce(x, name="c", op=hvd.Sum, compression=compression)
            assert result.dtype == torch.float32
            assert torch.allclose(result, x / (ME + 1) * 6, rtol=2 ** -bits)
        same(hvd.allreduce(torch.tensor([ME]), op=hvd.Sum, compression=kind), 3)
        small, context = kind.compress(x)
        assert small.element_size() == 2 and kind.decompress(small, context).dtype == x.dtype
        double = hvd.allreduce(x.double(), compression=kind)
        assert double.dtype == torch.float64
        group = hvd.grouped_allreduce([x, torch.tensor([ME]), x.half()], None, "cg", kind, hvd.Sum)
        assert [each.dtype for each in group] == [torch.float32, torch.int64, torch.float16]
        same(group[1], 3)
        leaf = torch.ones(2, requires_grad=True)
        hvd.allreduce(leaf, op=hvd.Sum, compression=kind).sum().backward()
        same(leaf.grad, 3)
    same(hvd.allreduce(torch.ones(2), op=hvd.Sum, compression="fp16"), 3)
    same(hvd.allreduce(torch.ones(2), op=hvd.Sum, compression="none"), 3)
    assert torch.allclose(hvd.allreduce(x, op=hvd.Max, compression=Thirds), x / (ME + 1) * 3)
    hvd.grouped_allreduce([x], compression=Thirds())
    hvd.grouped_reducescatter([x], compression=Thirds)
    raises(ValueError, lambda: hvd.allreduce(x, compression=3), "compress()")


run_all()
