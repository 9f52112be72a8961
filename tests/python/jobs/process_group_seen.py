# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What torch sees of the calls on backend unisono, on two ranks. Argument: a store's file, and the
backend of the world: "unisono", or one for each device."""

import json
import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

import unisono
import unisono.torch as hvd
from checks import Skip, check, raises, run_all
from unisono.torch.backend.process_group import _HAS_PYTHON_BACKENDS, group_of

RANK, SIZE = int(os.environ["UNISONO_RANK"]), int(os.environ["UNISONO_SIZE"])
BACKEND = sys.argv[2]
ALONE = BACKEND == "unisono"
CPU = torch.device("cpu")
dist.init_process_group(BACKEND, store=dist.FileStore(sys.argv[1], SIZE), rank=RANK,
                        world_size=SIZE, timeout=timedelta(seconds=60))


def needs_python_backends():
    if not _HAS_PYTHON_BACKENDS:
        raise Skip("this torch has no Backends in Python, so its dispatcher is not asked")


def make_every_call():
    """Each call once, with the operator under which torch's dispatcher knows it."""
    one, two = torch.ones(2), torch.ones(SIZE * 2)
    rows = [torch.zeros(2) for _ in range(SIZE)]
    yield "allreduce_", lambda: dist.all_reduce(one)
    yield "broadcast_", lambda: dist.broadcast(one, 0)
    yield "reduce_", lambda: dist.reduce(one, 0)
    yield "allgather_", lambda: dist.all_gather(rows, one)
    yield "_allgather_base_", lambda: dist.all_gather_into_tensor(two, one)
    yield "reduce_scatter_", lambda: dist.reduce_scatter(one, rows)
    yield "_reduce_scatter_base_", lambda: dist.reduce_scatter_tensor(one, two)
    yield "gather_", lambda: dist.gather(one, rows if RANK == 0 else None, dst=0)
    yield "scatter_", lambda: dist.scatter(one, rows if RANK == 0 else None, src=0)
    yield "alltoall_", lambda: dist.all_to_all(rows, [one.clone() for _ in range(SIZE)])
    yield "alltoall_base_", lambda: dist.all_to_all_single(two, two.clone())
    yield "barrier", lambda: dist.barrier()
    for call in (dist.send, dist.recv) if RANK == 0 else (dist.recv, dist.send):
        yield "send" if call is dist.send else "recv_", lambda: call(one, 1 - RANK)


@check
def each_device_has_its_backend():
    needs_python_backends()
    group = dist.group.WORLD
    assert group_of().engine.size() == SIZE
    if ALONE:
        raises(RuntimeError, lambda: group._get_backend(torch.device("cuda")), "cuda")
        return
    assert dist.get_backend_config() == "cpu:unisono,cuda:gloo", dist.get_backend_config()
    theirs = group._get_backend(torch.device("cuda"))
    while hasattr(theirs, "wrapped_pg"):
        theirs = theirs.wrapped_pg
    assert isinstance(theirs, dist.ProcessGroupGloo), theirs
    smaller = dist.new_group([0, 1])
    assert group_of(smaller).engine is not group_of().engine
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=smaller)
    assert tensor.tolist() == [SIZE] * 3
    dist.destroy_process_group(smaller)


@check
def the_world_engine_is_the_default_engine():
    from unisono.torch.backend.process_group import world_engine
    assert unisono.size() == SIZE and world_engine() is unisono.default.engine()
    assert hvd.allreduce(torch.ones(2), op=hvd.Sum, name="call.noname.1").tolist() == [SIZE] * 2


@check
def results_are_right():
    for call in (lambda t: dist.all_reduce(t), lambda t: dist.all_reduce(t, async_op=True).wait(),
                 lambda t: dist.all_reduce(t, async_op=True).get_future().wait()):
        tensor = torch.full((1000,), RANK + 1.0)
        call(tensor)
        assert tensor.eq(3).all(), tensor
    objects = [None] * SIZE
    dist.all_gather_object(objects, ("from", RANK))
    assert objects == [("from", rank) for rank in range(SIZE)]


@check
def the_dispatcher_sees_every_call():
    needs_python_backends()
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            names.append(str(function))
            return function(*args, **(kwargs or {}))

    for operator, call in make_every_call():
        names = []
        with Seen():
            call()
        assert f"c10d.{operator}.default" in names, f"{operator} is not in {names}"


@check
def comm_debug_mode_counts():
    needs_python_backends()
    try:
        from torch.distributed.tensor.debug import CommDebugMode
    except ImportError:
        raise Skip("this torch has no CommDebugMode")
    with CommDebugMode() as mode:
        dist.all_reduce(torch.ones(2))
        dist.all_reduce(torch.ones(2))
        dist.broadcast(torch.ones(2), 0)
    counts = {str(key): count for key, count in mode.get_comm_counts().items()}
    assert mode.get_total_counts() == 3 and counts["c10d.allreduce_"] == 2, counts


@check
def the_profiler_shows_every_call():
    needs_python_backends()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _, call in make_every_call():
            call()
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
        model(torch.ones(1, 2)).sum().backward()
    shown = {event.key: event.count for event in profile.key_averages()}
    for operator, _ in make_every_call():
        assert f"c10d::{operator}" in shown, f"{operator} is not in {sorted(shown)}"
    assert shown["c10d::allreduce_"] >= 2, "what C++ calls for DDP does not show"


@check
def the_flight_recorder_has_every_call():
    needs_python_backends()
    if not hasattr(c10d, "FlightRecorderHook"):
        raise Skip("this torch's flight recorder has no hook for other backends")
    dist.all_reduce(torch.ones(3))
    dist.broadcast(torch.ones(5), 0)
    text = c10d._dump_fr_trace_json(True, False, "unisono")
    entries = json.loads(text).get("entries", [])
    names = [entry["profiling_name"] for entry in entries]
    assert any("all_reduce" in name or "allreduce" in name for name in names), text[:2000]
    assert any("broadcast" in name for name in names), names
    assert any(entry["input_sizes"] == [[5]] for entry in entries), entries[-3:]


@check
def hooks_of_the_group_fire():
    needs_python_backends()
    if not hasattr(c10d.ProcessGroup, "register_pre_hook"):
        raise Skip("this torch's groups have no hooks")
    seen = []
    group = dist.group.WORLD
    group.register_pre_hook(77, lambda arguments: seen.append(str(arguments.name)))
    dist.all_reduce(torch.ones(2))
    group.unregister_pre_hook(77)
    dist.all_reduce(torch.ones(2))
    assert len(seen) == 1, seen


@check
def sums_take_the_short_way_where_nobody_looks_on():
    needs_python_backends()
    if not ALONE:
        raise Skip("a group of several backends is torch's own, and goes its way")
    recorded = os.environ.get("TORCH_FR_BUFFER_SIZE")
    os.environ["TORCH_FR_BUFFER_SIZE"] = "0"
    group = dist.new_group(list(range(SIZE)))
    if recorded is None:
        del os.environ["TORCH_FR_BUFFER_SIZE"]
    backend, passed = group._behind, []
    long_way = backend.allreduce
    backend.allreduce = lambda *given: passed.append(1) or long_way(*given)

    def summed(tensor, is_short, **more):
        before, want = len(passed), tensor.detach().clone() * SIZE
        work = dist.all_reduce(tensor, group=group, **more)
        if work is not None:
            (tensor_out,) = work.get_future().wait()
            assert tensor_out.data_ptr() == tensor.data_ptr() and work.is_completed()
        assert torch.equal(tensor.detach(), want), (tensor, want)
        assert (len(passed) == before) == is_short, (tensor, is_short)

    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32,
                  torch.uint8):
        summed(torch.full((5,), 3, dtype=dtype), True)
        summed(torch.full((5,), 3, dtype=dtype), True, async_op=True)
    summed(torch.nn.Parameter(torch.full((4,), 2.0)), True)
    summed(torch.ones(0), True)
    summed(torch.ones(6, 2)[:, 1], False)
    summed(torch.ones(3, dtype=torch.complex64), True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        summed(torch.ones(3), False)
    summed(torch.ones(3), True)
    if hasattr(c10d.ProcessGroup, "register_pre_hook"):
        group.register_pre_hook(5, lambda _: None)
        summed(torch.ones(3), False)
    dist.destroy_process_group(group)


@check
def works_know_how_they_stand():
    work = dist.all_reduce(torch.ones(4), async_op=True)
    if not ALONE:
        work.wait()
        assert work.get_future().done()
        raise Skip("torch's Works of a group with several backends wait and give futures only")
    assert isinstance(work, unisono.torch.backend.work.Work)
    while not work.is_completed():
        pass
    assert work.is_success() and work.exception() is None
    assert work.result()[0].tolist() == [SIZE] * 4
    if RANK == 0:
        dist.send(torch.ones(1), 1, tag=5)
    else:
        assert dist.recv(torch.zeros(1), tag=5) == 0
    # The group remembers no Work, or it would keep its tensors.
    import gc
    import weakref
    tensor = torch.ones(10)
    gone = weakref.ref(tensor)
    dist.all_reduce(tensor)
    del tensor
    gc.collect()
    assert gone() is None


@check
def what_it_supports_can_be_asked():
    needs_python_backends()
    backend = group_of()
    assert backend.supports_coalescing and backend.supports_splitting == ALONE
    names = [name for name in dir(c10d.Backend) if "supports_" in name
             and isinstance(getattr(c10d.Backend, name), property)]
    assert len(names) > 2
    for name in names:
        assert getattr(backend, name) in (True, False)
        assert getattr(dist.group.WORLD._get_backend(CPU), name) in (True, False)
    for name in ("supports_window", "supports_abort_hooks", "supports_completion_hooks"):
        if hasattr(c10d.ProcessGroup, name):
            assert getattr(dist.group.WORLD, name) is False


@check
def sequence_numbers_count_collectives():
    if not ALONE:
        raise Skip("torch asks the default backend, which is the other one")
    group = dist.group.WORLD
    before = group._get_sequence_number_for_group()
    for _ in range(3):
        dist.all_reduce(torch.ones(2))
    dist.barrier()
    assert group._get_sequence_number_for_group() == before + 4
    everywhere = [None] * SIZE
    dist.all_gather_object(everywhere, before)
    assert len(set(everywhere)) == 1, everywhere


@check
def split_group():
    if not hasattr(dist, "split_group"):
        raise Skip("this torch has no split_group")
    if not _HAS_PYTHON_BACKENDS:
        raises(Exception, lambda: dist.split_group(None, [[0], [1]]))
        return
    if not ALONE:
        raises(RuntimeError, lambda: dist.split_group(None, [[0], [1]]), "new_group")
        return
    both = dist.split_group(None, [[1, 0]])
    assert both.rank() == 1 - RANK and group_of(both).engine.rank() == 1 - RANK
    tensor = torch.full((2,), RANK + 1.0)
    dist.all_reduce(tensor, group=both)
    assert tensor.tolist() == [3, 3]
    dist.destroy_process_group(both)
    first = dist.split_group(None, [[0]])
    if RANK == 0:
        dist.all_reduce(tensor, group=first)
        assert tensor.tolist() == [3, 3]
    else:
        assert first is dist.GroupMember.NON_GROUP_MEMBER, first
    dist.barrier()


@check
def gather_single():
    if not hasattr(dist, "gather_single"):
        raise Skip("this torch has no gather_single")
    output = torch.zeros(SIZE * 2) if RANK == 1 else None
    mine = torch.full((2,), float(RANK))
    if not ALONE:
        raises(RuntimeError, lambda: dist.gather_single(mine, output, dst=1), "gather_single")
        return
    dist.gather_single(mine, output, dst=1)
    assert RANK == 0 or output.tolist() == [0, 0, 1, 1]
    if RANK == 1:
        raises(ValueError, lambda: dist.gather_single(mine, torch.zeros(3), dst=1), "elements")
    dist.barrier()


@check
def timeouts_can_be_shortened():
    set_timeout = getattr(dist, "set_timeout", None)
    if set_timeout is None:
        raise Skip("this torch sets timeouts of its own backends only")
    group = dist.new_group([0, 1], timeout=timedelta(seconds=50))
    raises(ValueError, lambda: set_timeout(timedelta(seconds=51), group), "50 s")
    set_timeout(timedelta(seconds=1), group)
    dist.barrier()
    if RANK == 0:
        raises(unisono.Timeout, lambda: dist.all_reduce(torch.ones(2), group=group), "all_reduce")
        dist.barrier()
    else:
        dist.barrier()
        dist.all_reduce(torch.ones(2), group=group)
    dist.barrier()


@check
def ddp_trains_and_its_hook_finds_the_engine():
    for hook in (None, hvd.ddp_hook):
        torch.manual_seed(1)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 3))
        if hook is not None:
            model.register_comm_hook(None, hook)
        model(torch.full((2, 8), RANK + 1.0)).sum().backward()
        assert torch.allclose(model.module.weight.grad, torch.full((3, 8), 3.0))


@check
def ends_and_begins_again():
    dist.barrier()
    dist.destroy_process_group()
    assert not unisono.is_initialized()
    raises(unisono.ShutDown, lambda: group_engine.engine.rank())


group_engine = group_of().collectives
run_all()
