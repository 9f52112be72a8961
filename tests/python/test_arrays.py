# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What may be passed, and what comes back."""

import gc
import sys
import time
import weakref

import numpy as np
import pytest

import unisono


def test_scalars_and_lists_become_arrays(solo):
    assert solo.allreduce(3) == 3 and solo.allreduce(2.5) == 2.5
    assert solo.allreduce([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert solo.allreduce(np.float32(4)).dtype == np.float32
    assert solo.allreduce(True, op=unisono.Or).dtype == bool


def test_zero_dimensional_stays_zero_dimensional(solo):
    result = solo.allreduce(np.array(7.0))
    assert isinstance(result, np.ndarray) and result.shape == ()


def test_results_are_writable_and_outlive_the_engine():
    with unisono.Engine(world=unisono.ThreadWorld(1)) as engine:
        result = engine.allreduce(np.ones(1000))
    gc.collect()
    result += 1
    assert (result == 2).all()


def test_read_only_is_fine_out_of_place_and_refused_in_place(solo):
    fixed = np.ones(3)
    fixed.flags.writeable = False
    assert solo.allreduce(fixed).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        solo.allreduce_(fixed)


@pytest.mark.parametrize("value", [[1.0], 1.0])
def test_in_place_needs_an_array(solo, value):
    with pytest.raises(ValueError, match="in-place"):
        solo.allreduce_(value)


@pytest.mark.parametrize("dtype", ["complex64", "longdouble", "U3", "datetime64[s]", "O"])
def test_other_element_types_are_refused_by_name(solo, dtype):
    with pytest.raises(ValueError, match="does not carry"):
        solo.allreduce(np.zeros(2, dtype))


class Foreign:
    """Offers DLPack alone, as a framework unisono has never heard of."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_anything_with_dlpack_is_used_without_a_copy(solo):
    array = np.full(8, 3.0, np.float32)
    foreign = Foreign(array)
    assert solo.allreduce_(foreign, op=unisono.Sum, prescale_factor=2.0) is foreign
    assert (array == 6).all()
    assert np.asarray(solo.allreduce(foreign)).tolist() == array.tolist()


def test_strided_dlpack_of_an_unknown_framework_is_refused(solo):
    with pytest.raises(ValueError, match="contiguous"):
        solo.allreduce(Foreign(np.ones((4, 4))[:, ::2]))


def test_accelerator_memory_is_refused_clearly(solo):
    import ctypes

    class OnCuda:
        """A DLPack tensor that claims device type 2, CUDA."""

        def __dlpack__(self, **_):
            # data, device (type 2), ndim, dtype, shape, strides, offset, context, deleter
            self.shape = (ctypes.c_int64 * 1)(4)
            self.tensor = (ctypes.c_uint64 * 8)()
            self.tensor[0] = 0xdead0000
            self.tensor[1] = 2
            self.tensor[2] = 1 | (2 | 32 << 8 | 1 << 16) << 32
            self.tensor[3] = ctypes.addressof(self.shape)
            new = ctypes.pythonapi.PyCapsule_New
            new.restype = ctypes.py_object
            new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            return new(ctypes.addressof(self.tensor), b"dltensor", None)

        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(ValueError, match="accelerator"):
        solo.allreduce(OnCuda())


def test_bfloat16_and_float8_of_ml_dtypes(solo):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        ones = np.ones(5, kind)
        assert solo.allreduce(ones, op=unisono.Sum).dtype == kind
        solo.allreduce_(ones, op=unisono.Sum, prescale_factor=2.0)
        assert (ones.astype(float) == 2).all()


def test_torch_in_torch_out(solo):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool):
        x = torch.ones(3, 4).to(dtype)
        result = solo.allreduce(x, op=unisono.Max)
        assert isinstance(result, torch.Tensor) and result.dtype == dtype and torch.equal(result, x)
    strided = torch.ones(4, 4).t()[::2]
    assert solo.allreduce_(strided, op=unisono.Sum, prescale_factor=3.0) is strided
    assert (strided == 3).all()
    gathered = solo.allgather(torch.ones(2, requires_grad=True))
    assert gathered.tolist() == [1, 1]


def test_importing_unisono_imports_no_framework():
    import subprocess
    code = ("import sys, unisono; "
            "assert not {'torch', 'jax', 'tensorflow', 'mpi4py'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_buffers_live_until_the_operation_ends_and_no_longer(solo):
    array = np.ones(1000)
    alive = weakref.ref(array)
    handle = solo.allreduce_async(array, name="held")
    del array
    handle.wait()
    del handle
    for _ in range(50):
        if alive() is None:
            break
        time.sleep(0.02)
    assert alive() is None


def test_abandoned_handles_do_no_harm(solo):
    for i in range(100):
        solo.allreduce_async(np.ones(100), name=f"abandoned.{i}")
    assert solo.allreduce(1.0, name="after") == 1.0
