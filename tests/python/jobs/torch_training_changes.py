# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The same as torch_training.py where optimizers change, are copied, meet others or lack
gradients."""

import copy
import io
import pickle

import torch
import torch.nn.functional as F

import unisono
from checks import Skip, check, run_all
from training import STEPS, batch, compare, flat, model, same_on_all_ranks, sgd, simple
from unisono.torch.optimizer import DistributedOptimizer


@check
def two_optimizers_at_once():
    def nets():
        return model(1), model(2)

    def loop(pair, optimizers, whole):
        for step in range(STEPS):
            x, y = batch(step, whole)
            for optimizer in optimizers:
                optimizer.zero_grad()
            (F.mse_loss(pair[0](x), y) + F.l1_loss(pair[1](x), y)).backward()
            for optimizer in optimizers if unisono.rank() or whole else optimizers[::-1]:
                optimizer.step()

    alone, together = nets(), nets()
    loop(alone, [sgd(net.parameters()) for net in alone], True)
    # Both models name their parameters alike, and some go without any names.
    loop(together, [DistributedOptimizer(sgd(net.parameters()), net.named_parameters())
                    for net in together], False)
    again = nets()
    loop(again, [DistributedOptimizer(sgd(net.parameters()), gradients_in_arena=False)
                 for net in again], False)
    for one, other, third in zip(alone, together, again):
        assert torch.allclose(flat(one), flat(other), atol=1e-6)
        assert torch.equal(flat(other), flat(third))


@check
def parameters_added_and_thawed_later():
    def loop(net, optimizer, whole):
        simple(net, optimizer, whole, 2)
        optimizer.add_param_group({"params": list(net[2].parameters()), "lr": 0.05})
        simple(net, optimizer, whole, 2)
        net[4].weight.requires_grad_(True)
        simple(net, optimizer, whole, 2)
        net[4].weight.requires_grad_(False)
        simple(net, optimizer, whole, 2)

    def frozen():
        net = model()
        net[4].weight.requires_grad_(False)
        return net

    for arguments in ({}, {"gradients_in_arena": False}, {"num_groups": 2}):
        alone, together = frozen(), frozen()
        chosen = [[*net[0].parameters(), *net[4].parameters()] for net in (alone, together)]
        loop(alone, sgd(chosen[0]), True)
        loop(together, DistributedOptimizer(sgd(chosen[1]), together.named_parameters(),
                                            **arguments), False)
        same_on_all_ranks(together)
        assert torch.allclose(flat(alone), flat(together), atol=1e-6), arguments


@check
def gradients_missing_on_some_ranks():
    def loop(net, optimizer, whole):
        for step in range(STEPS):
            x, y = batch(step, False)
            optimizer.zero_grad()
            # Rank 1 leaves out the second half of the model every other step.
            short = step % 2 == 1
            if whole:
                losses = [F.mse_loss(net(batch(step, True)[0][r::2]), batch(step, True)[1][r::2])
                          if r == 0 or not short else
                          net[0](batch(step, True)[0][r::2]).square().mean() for r in range(2)]
                (sum(losses) / 2).backward()
            elif unisono.rank() == 1 and short:
                net[0](x).square().mean().backward()
            else:
                F.mse_loss(net(x), y).backward()
            optimizer.step()

    compare(loop)
    compare(loop, num_groups=2)


@check
def a_rank_without_data_gives_zeros():
    net = model()
    optimizer = DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=1.0),
                                     net.named_parameters(), op=unisono.Sum)
    before = flat(net)
    if unisono.rank() == 0:
        F.mse_loss(net(batch(0, True)[0]), batch(0, True)[1]).backward()
    optimizer.step()
    same_on_all_ranks(net)
    assert not torch.equal(before, flat(net))


@check
def ranks_with_fewer_batches_join():
    for arguments in ({}, {"gradients_in_arena": False}, {"num_groups": 2}):
        for batches in (0, 2):
            net = model()
            optimizer = DistributedOptimizer(sgd(net.parameters()), net.named_parameters(),
                                             **arguments)
            for step in range(3 if unisono.rank() == 0 else batches):
                x, y = batch(step, False)
                optimizer.zero_grad()
                F.mse_loss(net(x), y).backward()
                optimizer.step()
            assert unisono.join() in (0, 1)


@check
def state_dict_round_trip():
    def loop(net, optimizer, whole):
        simple(net, optimizer, whole, 2)
        saved = io.BytesIO()
        torch.save(optimizer.state_dict(), saved)
        saved.seek(0)
        optimizer.load_state_dict(torch.load(saved))
        simple(net, optimizer, whole, 2)

    compare(loop)


@check
def copies_are_distributed_too():
    alone = model()
    simple(alone, sgd(alone.parameters()), True)
    simple(alone, made := sgd(alone.parameters()), True)
    for duplicate in (copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))):
        net = model()
        simple(net, DistributedOptimizer(sgd(net.parameters()), net.named_parameters()), False)
        optimizer = DistributedOptimizer(sgd(net.parameters()), net.named_parameters())
        copied, its_optimizer = duplicate((net, optimizer))
        assert isinstance(its_optimizer, torch.optim.SGD)
        simple(copied, its_optimizer, False)
        same_on_all_ranks(copied)
        assert torch.allclose(flat(copied), flat(alone), atol=1e-6)
        assert not torch.equal(flat(copied), flat(net))
    assert made.state


@check
def step_hooks_run_once():
    net, calls = model(), []
    optimizer = DistributedOptimizer(sgd(net.parameters()), net.named_parameters())
    if not hasattr(optimizer, "register_step_post_hook"):
        raise Skip("this torch's optimizers have no step hooks")
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    optimizer.load_state_dict(optimizer.state_dict())
    simple(net, optimizer, False, 2)
    assert len(calls) == 2


@check
def a_second_life_of_the_job():
    net, alone = model(), model()
    optimizer = DistributedOptimizer(sgd(net.parameters()), net.named_parameters())
    whole = sgd(alone.parameters())
    simple(net, optimizer, False, 2)
    unisono.barrier()
    unisono.shutdown()
    unisono.init()
    simple(net, optimizer, False, 2)
    simple(alone, whole, True, 2)
    simple(alone, whole, True, 2)
    assert optimizer.gradients_in_arena
    assert torch.allclose(flat(net), flat(alone), atol=1e-6)


if __name__ == "__main__":
    unisono.init()
    run_all()
