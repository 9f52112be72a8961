# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer on three ranks: what it refuses, subsets of ranks, where gradients lie."""

import torch
import torch.nn.functional as F

import unisono
from checks import check, raises, run_all
from unisono.torch.optimizer import DistributedOptimizer


def model(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(5, 9), torch.nn.Tanh(), torch.nn.Linear(9, 2))


def distributed(net, **arguments):
    return DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
                                net.named_parameters(), **arguments)


def backward(net, step=0, rank=None):
    seed = 10 * step + (unisono.rank() if rank is None else rank)
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(seed))
    F.mse_loss(net(x), x[:, :2]).backward()


def train(net, optimizer, steps=3, rank=None):
    for step in range(steps):
        optimizer.zero_grad()
        backward(net, step, rank)
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in net.parameters()])


def everyone(value):
    return unisono.allgather_object(value)


@check
def it_is_an_optimizer_of_the_same_class():
    net = model()
    plain = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer = DistributedOptimizer(plain, net.named_parameters())
    assert isinstance(optimizer, torch.optim.SGD) and type(optimizer).__name__ == "SGD"
    assert optimizer.param_groups is plain.param_groups and optimizer.defaults == plain.defaults
    raises(ValueError, lambda: DistributedOptimizer(optimizer), "already")


@check
def it_shows_what_it_was_made_with():
    net = model()
    some = unisono.add_process_set([0, 2])
    plain = distributed(net)
    assert plain.op == unisono.Average and plain.process_set is unisono.global_process_set
    assert plain._parameter_names == {p: name for name, p in net.named_parameters()}
    assert plain.gradient_predivide_factor == 1.0 and plain.backward_passes_per_step == 1
    assert plain.sparse_as_dense is False
    other = distributed(net, op=unisono.Sum, process_set=some, sparse_as_dense=True)
    assert (other.op, other.process_set, other.sparse_as_dense) == (unisono.Sum, some, True)
    unisono.remove_process_set(some)


@check
def the_arena_does_not_change_bits():
    with_arena, without, in_groups = model(), model(), model()
    first = distributed(with_arena, bucket_bytes=200)
    second = distributed(without, gradients_in_arena=False)
    third = distributed(in_groups, num_groups=2)
    results = [train(with_arena, first), train(without, second), train(in_groups, third)]
    assert first.gradients_in_arena and third.gradients_in_arena
    assert not second.gradients_in_arena
    assert "one host" in str(first.gradients_in_arena)
    for result in results:
        assert torch.equal(result, results[0])
    assert all(torch.equal(each, results[0]) for each in everyone(results[0]))


@check
def gradients_are_views_into_the_arena():
    net = model()
    optimizer = distributed(net)
    flat = optimizer._exchange.buffers.current[0].flat
    first, last = flat.data_ptr(), flat.data_ptr() + 4 * flat.numel()
    for step in range(2):
        optimizer.zero_grad()
        assert all(p.grad is None for p in net.parameters())
        backward(net, step)
        optimizer.step()
        for p in net.parameters():
            assert first <= p.grad.data_ptr() < last and p.grad.data_ptr() % 64 == first % 64


@check
def ranks_may_run_out_of_arena_alone():
    from unisono.torch.optimizer import grad_arena
    reference = model()
    expected = train(reference, distributed(reference))
    real = grad_arena._allocate
    if unisono.rank() == 1:
        grad_arena._allocate = lambda engine, count, dtype: (torch.zeros(count, dtype=dtype), False)
    try:
        net = model()
        optimizer = distributed(net)
    finally:
        grad_arena._allocate = real
    assert bool(optimizer.gradients_in_arena) == (unisono.rank() != 1)
    assert torch.equal(train(net, optimizer), expected)


@check
def a_rank_outside_the_set_stays_local():
    some = unisono.add_process_set([0, 1])
    net = model()
    optimizer = distributed(net, process_set=some)
    result = train(net, optimizer)
    results = everyone(result)
    assert torch.equal(results[0], results[1])
    alone = model()
    local = train(alone, torch.optim.SGD(alone.parameters(), lr=0.1, momentum=0.9), rank=2)
    assert torch.equal(results[2], local) and not torch.equal(results[0], local)
    unisono.remove_process_set(some)


@check
def two_sets_train_two_models():
    sets = [unisono.add_process_set([0, 1]), unisono.add_process_set([1, 2])]
    nets = [model(1), model(2)]
    optimizers = [distributed(net, process_set=each) for net, each in zip(nets, sets)]
    results = everyone([train(net, optimizer) for net, optimizer in zip(nets, optimizers)])
    assert torch.equal(results[0][0], results[1][0]) and torch.equal(results[1][1], results[2][1])
    assert not torch.equal(results[0][0], results[2][0])
    for each in sets:
        unisono.remove_process_set(each)


@check
def zero_grad_while_gradients_travel():
    net = model()
    optimizer = distributed(net)
    backward(net)
    error = raises(AssertionError, optimizer.zero_grad, "prohibited", "synchronize")
    assert isinstance(error, ValueError)
    optimizer.step()
    optimizer.zero_grad()


@check
def backward_too_often():
    net = model()
    optimizer = distributed(net)
    backward(net)
    raises(AssertionError, lambda: backward(net), "backward_passes_per_step")
    # The second pass has added to the last layer's gradient while it was being averaged.
    raises(AssertionError, optimizer.synchronize, "2.bias was changed")
    optimizer.set_backward_passes_per_step(2)
    optimizer.zero_grad()
    backward(net)
    backward(net)
    optimizer.step()


@check
def gradients_changed_too_early():
    for arguments in ({}, {"gradients_in_arena": False}):
        net = model()
        optimizer = distributed(net, **arguments)
        backward(net)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
        raises(ValueError, optimizer.step, "gradient of ", "skip_synchronize")
        assert all(p.grad is None for p in net.parameters())
        optimizer.zero_grad()
        backward(net)
        net[0].weight.grad = torch.zeros_like(net[0].weight)
        raises(ValueError, optimizer.step, "gradient of 0.weight")
        result = train(net, optimizer)
        assert all(torch.equal(each, result) for each in everyone(result))


@check
def skip_synchronize_with_gradients_under_way():
    net = model()
    optimizer = distributed(net)
    backward(net)
    with optimizer.skip_synchronize():
        raises(AssertionError, optimizer.step, "synchronize")
    optimizer.step()
    with optimizer.skip_synchronize():
        optimizer.step()


@check
def parameters_in_another_order_on_one_rank():
    for arguments in ({}, {"num_groups": 1, "gradients_in_arena": False}):
        net = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)])
        named = list(net.named_parameters())
        if unisono.rank() == 1:
            named = named[2:] + named[:2]
        optimizer = DistributedOptimizer(torch.optim.SGD([p for _, p in named], lr=0.1), named,
                                         **arguments)
        for _ in range(2):  # it is no better the second time
            net[1](net[0](torch.ones(1, 3))).sum().backward()
            raises(unisono.Mismatch, optimizer.step, "rank 1", "rank 0 of the set", "same order")
            assert all(p.grad is None for p in net.parameters())
            unisono.barrier()


@check
def optimizers_with_names_of_their_own_share_no_bucket():
    nets = [model(1), model(2)]
    optimizers = [DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.1),
        [(f"net{number}.{name}", p) for name, p in net.named_parameters()])
        for number, net in enumerate(nets)]
    for number in (0, 1) if unisono.rank() else (1, 0):
        backward(nets[number])
    for optimizer in optimizers:
        optimizer.step()
    for net in nets:
        weights = everyone(net[0].weight.detach())
        assert all(torch.equal(each, weights[0]) for each in weights)


@check
def a_parameter_that_one_rank_lacks():
    net = model()
    extra = torch.nn.Parameter(torch.zeros(3))
    named = list(net.named_parameters())
    if unisono.rank() == 2:
        named.append(("extra", extra))
    optimizer = DistributedOptimizer(torch.optim.SGD([p for _, p in named], lr=0.1), named)
    backward(net)
    raises(unisono.Mismatch, optimizer.step, "rank 2", "extra")
    unisono.barrier()


@check
def a_newer_optimizer_takes_the_parameters_over():
    net = model()
    older = distributed(net)
    newer = distributed(net)
    train(net, newer, 1)
    raises(ValueError, older.step, "0.weight")
    del older
    train(net, newer, 1)


@check
def an_optimizer_nobody_holds_sends_nothing():
    net = model()
    distributed(net)
    before = unisono.stats()["buckets"]
    backward(net)
    assert unisono.stats()["buckets"] == before


@check
def a_model_of_frozen_parameters():
    net = model().requires_grad_(False)
    optimizer = distributed(net)
    optimizer.step()
    assert not optimizer.gradients_in_arena


if __name__ == "__main__":
    unisono.init()
    run_all()
