# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The collectives of unisono.torch, on three ranks and on one."""

import inspect

import pytest

import checked

torch = pytest.importorskip("torch", reason="torch is not installed")
import unisono  # noqa: E402
import unisono.torch as hvd  # noqa: E402

job, test_on_three_ranks, test_the_job_ends_well = checked.tests_of("torch_collectives.py", 3)


def test_everything_exported_exists_and_says_what_it_does():
    assert len(set(hvd.__all__)) == len(hvd.__all__)
    for name in hvd.__all__:
        found = getattr(hvd, name)
        if inspect.isfunction(found) or inspect.isclass(found) and found is not hvd.ReduceOp:
            assert found.__doc__, name


@pytest.mark.parametrize("call, order", [
    ("allreduce",
     "tensor average name compression op prescale_factor postscale_factor process_set"),
    ("allreduce_", "tensor average name op prescale_factor postscale_factor process_set"),
    ("allreduce_async", "tensor average name op prescale_factor postscale_factor process_set"),
    ("allreduce_async_", "tensor average name op prescale_factor postscale_factor process_set"),
    ("grouped_allreduce",
     "tensors average name compression op prescale_factor postscale_factor process_set"),
    ("grouped_allreduce_", "tensors average name op prescale_factor postscale_factor process_set"),
    ("grouped_allreduce_async_",
     "tensors average name op prescale_factor postscale_factor process_set"),
    ("allgather", "tensor name process_set"),
    ("grouped_allgather", "tensors name process_set"),
    ("broadcast", "tensor root_rank name process_set"),
    ("broadcast_async_", "tensor root_rank name process_set"),
    ("alltoall", "tensor splits name process_set"),
    ("reducescatter", "tensor name compression op process_set prescale_factor postscale_factor"),
    ("reducescatter_async", "tensor name op process_set prescale_factor postscale_factor"),
    ("sparse_allreduce_async", "tensor name op process_set"),
])
def test_arguments_come_in_horovods_order(call, order):
    assert list(inspect.signature(getattr(hvd, call)).parameters) == order.split()


MPI_OPS = """allreduce allreduce_async allreduce_ allreduce_async_ grouped_allreduce
    grouped_allreduce_async grouped_allreduce_ grouped_allreduce_async_ sparse_allreduce_async
    allgather allgather_async grouped_allgather grouped_allgather_async broadcast broadcast_async
    broadcast_ broadcast_async_ alltoall alltoall_async reducescatter reducescatter_async
    grouped_reducescatter grouped_reducescatter_async join barrier poll synchronize init shutdown
    is_initialized start_timeline stop_timeline size local_size cross_size rank local_rank
    cross_rank is_homogeneous mpi_threads_supported mpi_enabled mpi_built gloo_enabled gloo_built
    nccl_built ddl_built ccl_built cuda_built rocm_built Average Sum Adasum Min Max Product
    Compression ProcessSet global_process_set add_process_set remove_process_set
    HorovodInternalError""".split()


def test_mpi_ops_has_the_names_that_programs_import_from_it():
    import unisono.torch.mpi_ops as mpi_ops
    assert sorted(mpi_ops.__all__) == sorted(MPI_OPS)
    for name in MPI_OPS:
        assert getattr(mpi_ops, name) is getattr(hvd, name), name


def test_queries_work_before_init():
    assert not hvd.is_initialized()
    assert hvd.nccl_built() == 0
    for query in (hvd.mpi_built, hvd.mpi_enabled, hvd.mpi_threads_supported, hvd.gloo_built,
                  hvd.gloo_enabled, hvd.ddl_built, hvd.ccl_built, hvd.cuda_built, hvd.rocm_built):
        assert query() is False


@pytest.mark.parametrize("call", [hvd.rank, hvd.size, hvd.is_homogeneous, hvd.barrier,
                                  lambda: hvd.allreduce(torch.ones(1)),
                                  lambda: hvd.broadcast_parameters({})])
def test_other_calls_ask_for_init(call):
    with pytest.raises(unisono.NotInitialized, match="init"):
        call()


def test_init_takes_horovods_arguments():
    for arguments in ({}, {"comm": [0]}, {"process_sets": "dynamic"}, {"process_sets": []},
                      {"process_sets": [[0]]}, {"options": {"fusion_bytes": 1000}},
                      {"fusion_bytes": 1000}):
        hvd.init(**arguments)
        assert hvd.is_initialized() and hvd.is_homogeneous()
        hvd.shutdown()
    with pytest.raises(ValueError, match="process_set=add_process_set"):
        hvd.init(comm=[0, 1])
    with pytest.raises(ValueError, match="dynamic"):
        hvd.init(process_sets="static")
    assert not hvd.is_initialized()


def test_horovods_environment_is_read_at_init(monkeypatch):
    monkeypatch.setenv("HOROVOD_FUSION_THRESHOLD", "12345")
    hvd.init()
    assert unisono.default.engine().options().get("fusion_bytes") == "12345"
    hvd.shutdown()
    monkeypatch.setenv("HOROVOD_FUSION_THRESHOLD", "54321")
    hvd.init()
    assert unisono.default.engine().options().get("fusion_bytes") == "54321"
    hvd.shutdown()


def test_results_are_one_step_of_memory(alone):
    """A result is an ordinary tensor: writable, and whole after the engine has gone."""
    result = hvd.allreduce(torch.ones(1000))
    unisono.shutdown()
    result += 1
    assert (result == 2).all()


@pytest.mark.parametrize("tensor, text", [
    (torch.ones(2, device="meta"), "on meta and unisono moves CPU memory"),
    (torch.ones(2, 2).to_sparse(), "sparse_allreduce_async"),
    (torch.ones(2, dtype=torch.complex64), "does not carry elements of type torch.complex64"),
])
@pytest.mark.parametrize("call", [hvd.allreduce, hvd.allreduce_, hvd.allgather_async,
                                  lambda x: hvd.broadcast_(x, 0)])
def test_what_cannot_be_carried_is_refused(alone, tensor, text, call):
    with pytest.raises(ValueError, match=text):
        call(tensor)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"])
def test_types_that_some_versions_of_torch_have(alone, name):
    if not hasattr(torch, name):
        pytest.skip(f"torch {torch.__version__} has no {name}")
    tensor = torch.ones(3).to(getattr(torch, name))
    assert hvd.allgather(tensor).dtype == tensor.dtype
    assert hvd.broadcast_(tensor, 0).float().tolist() == [1, 1, 1]


def test_tensors_of_inference_mode(alone):
    with torch.inference_mode():
        tensor = torch.ones(4)
        assert hvd.allreduce_(tensor, op=hvd.Sum, prescale_factor=2.0).tolist() == [2] * 4
        assert hvd.allreduce_(tensor[::2], op=hvd.Sum, prescale_factor=2.0).tolist() == [4, 4]
        assert hvd.allreduce(tensor).tolist() == [4, 2, 4, 2]


@pytest.mark.parametrize("value", [1.0, [1.0, 2.0], None])
def test_differentiable_calls_take_tensors_only(alone, value):
    with pytest.raises(ValueError, match="takes torch tensors"):
        hvd.allreduce(value)


def test_a_tensor_lives_until_its_operation_ends_and_no_longer(alone):
    import time
    import weakref
    tensor = torch.ones(1000)
    alive = weakref.ref(tensor)
    handle = hvd.allreduce_async(tensor, name="held")
    del tensor
    hvd.synchronize(handle)
    del handle
    for _ in range(100):
        if alive() is None:
            break
        time.sleep(0.02)
    assert alive() is None
