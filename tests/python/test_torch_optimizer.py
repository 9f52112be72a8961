# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer: its arguments, checked without a job, and its behaviour on three ranks."""

import gc
import inspect
import weakref

import pytest

import checked

torch = pytest.importorskip("torch", reason="torch is not installed")
import unisono  # noqa: E402
from unisono.torch.optimizer import DistributedOptimizer  # noqa: E402
from unisono.torch.optimizer.arguments import chosen_groups  # noqa: E402
from unisono.torch.optimizer.grad_arena import cut_buckets  # noqa: E402
from unisono.torch.optimizer.lag import Lag  # noqa: E402
from unisono.torch.optimizer.tracked import TrackedParameter  # noqa: E402

job, test_on_three_ranks, test_the_job_ends_well = checked.tests_of("torch_optimizer.py", 3)


def wrapped(named=None, **arguments):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return DistributedOptimizer(optimizer, named(net) if named else None, **arguments)


def test_positional_arguments_are_horovods():
    assert list(inspect.signature(DistributedOptimizer).parameters)[:10] == [
        "optimizer", "named_parameters", "compression", "backward_passes_per_step", "op",
        "gradient_predivide_factor", "num_groups", "groups", "sparse_as_dense", "process_set"]


@pytest.mark.parametrize("named, text", [
    (lambda net: [("a", p) for p in net.parameters()], "must be unique.*duplicates: a"),
    (lambda net: list(net.named_parameters())[1:], r"not named: parameter 0 of group 0.*\(2, 2\)"),
    (lambda net: list(net.parameters()), "sequence of tuples"),
    (lambda net: [(1, p) for p in net.parameters()], "sequence of tuples"),
])
def test_names_are_checked_before_init(named, text):
    assert not unisono.is_initialized()
    with pytest.raises(ValueError, match=text):
        wrapped(named)


@pytest.mark.parametrize("arguments, text", [
    (dict(backward_passes_per_step=0), "backward_passes_per_step is 0"),
    (dict(gradient_predivide_factor=2.0, op=unisono.Sum), "op != Average"),
    (dict(gradient_predivide_factor=0.0), "above 0"),
    (dict(num_groups=-1), "num_groups is -1"),
    (dict(num_groups=1, groups=[]), "not both"),
    (dict(groups=[torch.zeros(1)]), "list of lists"),
    (dict(groups=[[torch.nn.Parameter(torch.zeros(1))]]), "does not train"),
])
def test_arguments_are_checked_before_init(arguments, text):
    with pytest.raises(ValueError, match=text):
        wrapped(**arguments)


def test_making_one_needs_init():
    with pytest.raises(unisono.NotInitialized):
        wrapped()


def test_alone_it_steps_as_the_wrapped_one(alone):
    optimizer = wrapped(lambda net: net.named_parameters())
    p = optimizer.param_groups[0]["params"][0]
    before = p.detach().clone()
    p.sum().backward()
    p.sum().backward()  # nothing travels, so passes need not be counted
    optimizer.step()
    assert torch.allclose(p, before - 0.2)
    optimizer.zero_grad()
    assert not optimizer.gradients_in_arena and "nobody" in str(optimizer.gradients_in_arena)


def test_lag_holds_in_a_job_of_one(alone):
    optimizer = wrapped(lag=1)
    p = optimizer.param_groups[0]["params"][0]
    before = p.detach().clone()
    for factor in (1, 2):
        optimizer.zero_grad()
        (factor * p).sum().backward()
        optimizer.step()
    assert torch.allclose(p, before - 0.1)
    optimizer.flush()
    assert torch.allclose(p, before - 0.3)


def test_a_compressor_is_an_object_that_compresses(alone):
    with pytest.raises(ValueError, match="compress"):
        wrapped(compression=object())


def test_a_dropped_optimizer_is_freed(alone):
    optimizer = wrapped()
    parameters, exchange = optimizer.param_groups, weakref.ref(optimizer._exchange)
    del optimizer
    gc.collect()
    assert exchange() is None and parameters


def tracked(*shapes, dtype=torch.float32):
    return [TrackedParameter(torch.nn.Parameter(torch.zeros(shape, dtype=dtype)), str(number), 1)
            for number, shape in enumerate(shapes)]


def test_buckets_are_cut_from_the_last_parameter_by_bytes_and_type():
    mixed = tracked(16, 16, 16) + tracked(16, dtype=torch.float64) + tracked(100, 16)
    cut = cut_buckets(mixed, 128)
    assert [[each.tensor.numel() for each in bucket] for bucket in cut] == [
        [16], [100], [16], [16, 16], [16]]
    assert cut_buckets([], 128) == []


def test_groups_by_number_skip_frozen_parameters():
    parameters = [torch.nn.Parameter(torch.zeros(n)) for n in (100, 1, 1, 1)]
    parameters[1].requires_grad_(False)
    assert chosen_groups(parameters, 0, None, "count") is None
    assert chosen_groups(parameters, 2, None, "bytes") == [[0], [2, 3]]
    assert chosen_groups(parameters, 0, 1, "count") == [[0, 2, 3]]
    assert chosen_groups(parameters, 0, [parameters[:2]], "count") == [[0, 1], [2], [3]]


def test_lag_schedule():
    lag = Lag(1, cool_down_steps=2, total_steps=5)
    seen = []
    for lag.step in range(6):
        seen.append((lag.now, lag.ends_here))
    assert seen == [(True, False), (True, False), (True, True)] + [(False, False)] * 3
    assert not Lag(1, 9, 5).now and Lag(1).now and not Lag(0).now
