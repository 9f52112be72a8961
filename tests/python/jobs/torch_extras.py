# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients in one call, gradients one step late, and the check that ranks agree: three ranks."""

import torch
import torch.nn.functional as F

import unisono
from checks import check, raises, run_all
from unisono.torch.compression import Compression
from unisono.torch.optimizer import DistributedOptimizer
from unisono.torch.optimizer.consistency import check_consistent
from unisono.torch.optimizer.gradients import gradients


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 9), torch.nn.Tanh(), torch.nn.Linear(9, 2))


def loss_of(net, step, rank):
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(10 * step + rank))
    return F.mse_loss(net(x), x[:, :2])


def flat(tensors):
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


@check
def gradients_in_one_call():
    for arguments in ({}, {"num_groups": 2}, {"num_groups": 2, "balance": "count"},
                      {"compression": Compression.bf16}, {"op": unisono.Sum, "name": "sums"}):
        tensors = [torch.full((3, 2), float(unisono.rank())), torch.arange(4.0),
                   torch.ones(6, 2, dtype=torch.float64)[:, 0] * unisono.rank(),
                   torch.tensor(float(unisono.rank()))]
        result = gradients(tensors, **arguments)
        scale = 3 if "op" in arguments else 1
        assert all(one is other for one, other in zip(result, tensors))
        assert torch.equal(tensors[0], torch.full((3, 2), 1.0 * scale))
        assert torch.equal(tensors[1], torch.arange(4.0) * scale)
        assert torch.equal(tensors[2], torch.ones(6, dtype=torch.float64) * scale)
        assert tensors[3].item() == scale
    assert gradients([]) == []


@check
def gradients_of_a_subset_of_ranks():
    some = unisono.add_process_set([0, 2])
    tensors = gradients([torch.tensor([float(unisono.rank())])], process_set=some)
    assert tensors[0].item() == 1.0
    unisono.remove_process_set(some)


@check
def gradients_says_what_it_cannot_take():
    raises(ValueError, lambda: gradients([torch.ones(1), None]), "[1] is None", "zeros_like")
    raises(ValueError, lambda: gradients([torch.ones(2).to_sparse()]), "sparse")
    raises(ValueError, lambda: gradients([1.0]), "float")
    raises(ValueError, lambda: gradients([torch.ones(1)], num_groups=0), "num_groups")


@check
def equal_tensors_are_consistent():
    net = model()
    check_consistent(net)
    check_consistent(net.named_parameters())
    check_consistent({"a": torch.ones(3, dtype=torch.bfloat16)[::2], "b": torch.tensor(True)})
    check_consistent({})


@check
def the_first_tensor_that_differs_is_named():
    net = model()
    if unisono.rank() == 1:
        net[0].bias.data[3] += 1e-7
        net[2].bias.data[0] += 1
    error = raises(unisono.Mismatch, lambda: check_consistent(net), "0.bias", "rank 1",
                   "(9,)", "broadcast_parameters")
    assert error.rank == 1


@check
def shapes_types_and_missing_tensors_are_named():
    rank = unisono.rank()
    for odd, texts in ((torch.ones(3), ("(3,)", "(2,)")),
                       (torch.ones(2, dtype=torch.float64), ("float64", "float32"))):
        tensors = {"a": torch.zeros(1), "b": odd if rank == 2 else torch.ones(2)}
        error = raises(unisono.Mismatch, lambda: check_consistent(tensors), "b", "rank 2", *texts)
        assert error.rank == 2
    tensors = {"a": torch.zeros(1), "b": torch.zeros(1)}
    if rank == 0:
        del tensors["b"]
    raises(unisono.Mismatch, lambda: check_consistent(tensors), "nothing", "rank 0")
    raises(ValueError, lambda: check_consistent({"a": 3}), "a is a int")


@check
def without_a_majority_rank_0_counts():
    error = raises(unisono.Mismatch,
                   lambda: check_consistent({"a": torch.tensor(unisono.rank())}), "ranks 1, 2")
    assert error.rank == 1


@check
def consistency_of_a_subset_of_ranks():
    some = unisono.add_process_set([0, 2])
    check_consistent({"a": torch.tensor(unisono.rank() % 2)}, process_set=some)
    unisono.remove_process_set(some)


def lagged_by_hand(steps, lagged):
    """Step k of the lagged ones applies the average of k-1; the last applies its own too."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    held = None

    def apply(tensors):
        for p, tensor in zip(net.parameters(), tensors):
            p.grad = tensor
        optimizer.step()

    for step in range(steps):
        loss = sum(loss_of(net, step, rank) for rank in range(3)) / 3
        mean = torch.autograd.grad(loss, list(net.parameters()))
        if step >= lagged:
            apply(mean)
            continue
        if held is not None:
            apply(held)
        held = mean
        if step == lagged - 1:
            apply(held)
    return net


def lagged(steps, **arguments):
    net = model()
    optimizer = DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
                                     net.named_parameters(), lag=1, **arguments)
    for step in range(steps):
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        loss_of(net, step, unisono.rank()).backward()
        optimizer.step()
    return net, optimizer


@check
def lag_applies_the_step_before_and_cools_down():
    for arguments in ({}, {"gradients_in_arena": False}, {"num_groups": 2}):
        for cool_down in (1, 3, 7):
            expected = lagged_by_hand(7, 7 - cool_down)
            net, optimizer = lagged(7, cool_down_steps=cool_down, total_steps=7, **arguments)
            assert torch.allclose(flat(net.parameters()), flat(expected.parameters()), atol=1e-6)
            assert not optimizer.flush()
            check_consistent(net)


@check
def lag_is_flushed_at_the_end():
    net, optimizer = lagged(5)
    assert optimizer.flush() and not optimizer.flush()
    expected = lagged_by_hand(5, 5)
    assert torch.allclose(flat(net.parameters()), flat(expected.parameters()), atol=1e-6)


@check
def the_first_lagged_step_applies_nothing():
    net, optimizer = lagged(1)
    assert torch.equal(flat(net.parameters()), flat(model().parameters()))
    optimizer.flush()
    assert not torch.equal(flat(net.parameters()), flat(model().parameters()))


@check
def lag_refuses_what_needs_the_gradients_now():
    net = model()
    plain = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer = DistributedOptimizer(plain, lag=1)
    raises(ValueError, lambda: optimizer.step(lambda: 0), "closure", "lag=0")
    raises(ValueError, lambda: DistributedOptimizer(plain, lag=2), "lag is 2")
    raises(ValueError, lambda: DistributedOptimizer(plain, lag=1, cool_down_steps=3), "total_steps")
    if hasattr(torch.amp, "GradScaler"):
        scaler = torch.amp.GradScaler("cpu")
        scaler.scale(loss_of(net, 0, 0)).backward()
        raises(ValueError, lambda: scaler.step(optimizer), "GradScaler", "lag=0")
        optimizer.step()


if __name__ == "__main__":
    unisono.init()
    run_all()
