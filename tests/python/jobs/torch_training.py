# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Training on every rank's part of a batch against training on the whole batch in one process."""

import contextlib
import copy
import io
import pickle
import warnings

import torch
import torch.nn.functional as F

import unisono
from checks import check, run_all, Skip
from training import STEPS, batch, compare, flat, model, same_on_all_ranks, sgd, simple
from unisono.torch.optimizer import DistributedOptimizer, hooks


@check
def sgd_with_momentum():
    compare()


@check
def adam():
    compare(make=lambda p: torch.optim.Adam(p, lr=0.01))


@check
def several_buckets():
    compare(bucket_bytes=300)


@check
def named_by_order():
    alone, together = model(), model()
    simple(alone, sgd(alone.parameters()), True)
    simple(together, DistributedOptimizer(sgd(together.parameters())), False)
    assert torch.allclose(flat(alone), flat(together), atol=1e-6)


@check
def hooks_of_torch_before_2_1():
    newer, hooks._HAS_POST_ACCUMULATE = hooks._HAS_POST_ACCUMULATE, False
    try:
        compare()
        compare(backward_passes_per_step=1, num_groups=2)
    finally:
        hooks._HAS_POST_ACCUMULATE = newer


@check
def zero_grad_to_zeros():
    def loop(net, optimizer, whole):
        for step in range(STEPS):
            x, y = batch(step, whole)
            optimizer.zero_grad(set_to_none=step % 2 == 0)
            F.mse_loss(net(x), y).backward()
            optimizer.step()

    compare(loop)


@check
def sum_of_gradients():
    def loop(net, optimizer, whole):
        for step in range(STEPS):
            x, y = batch(step, whole)
            optimizer.zero_grad()
            F.mse_loss(net(x), y, reduction="sum").div(10).backward()
            optimizer.step()

    compare(loop, op=unisono.Sum)


@check
def gradient_accumulation():
    def loop(net, optimizer, whole):
        for step in range(STEPS):
            optimizer.zero_grad()
            for part in range(3):
                x, y = batch(10 * step + part, whole)
                (F.mse_loss(net(x), y) / 3).backward()
            optimizer.step()

    compare(loop, backward_passes_per_step=3)
    compare(loop, backward_passes_per_step=3, num_groups=2)


@check
def clipping_after_synchronize():
    def loop(net, optimizer, whole):
        for step in range(STEPS):
            x, y = batch(step, whole)
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            if whole:
                torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
                optimizer.step()
                continue
            optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            with optimizer.skip_synchronize():
                optimizer.step()

    compare(loop)
    compare(loop, num_groups=2)


@check
def step_after_synchronize_exchanges_once():
    def loop(net, optimizer, whole):
        for step in range(STEPS):
            x, y = batch(step, whole)
            optimizer.zero_grad()
            F.mse_loss(net(x), y, reduction="sum").div(10).backward()
            if not whole:
                optimizer.synchronize()
            optimizer.step()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so, see the next check
        compare(loop, op=unisono.Sum)


@check
def step_after_synchronize_warns():
    net = model()
    optimizer = DistributedOptimizer(sgd(net.parameters()), net.named_parameters())

    def warned(synchronize=False, skip=False, scaler=None):
        optimizer.zero_grad()
        x, y = batch(0, False)
        loss = F.mse_loss(net(x), y)
        (loss if scaler is None else scaler.scale(loss)).backward()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if synchronize:
                optimizer.synchronize()
            if scaler is not None:
                scaler.unscale_(optimizer)
            with optimizer.skip_synchronize() if skip else contextlib.nullcontext():
                optimizer.step() if scaler is None else scaler.step(optimizer)
        texts = [each for each in caught if "skip_synchronize" in str(each.message)]
        assert all(each.filename == __file__ for each in texts if scaler is None)
        return len(texts)

    assert warned() == 0 and warned(synchronize=True, skip=True) == 0
    assert warned(synchronize=True) == 1
    assert warned() == 0, "the next step has nothing to do with it"
    optimizer.synchronize()
    assert warned() == 0, "these gradients are new"
    if hasattr(torch.amp, "GradScaler"):
        for arguments, count in (({}, 0), ({"synchronize": True, "skip": True}, 0),
                                 ({"synchronize": True}, 1)):
            assert warned(scaler=torch.amp.GradScaler("cpu"), **arguments) == count


@check
def learning_rate_schedulers():
    def loop(net, optimizer, whole):
        schedulers = [torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5),
                      torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]
        for step in range(STEPS):
            x, y = batch(step, whole)
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
            for scheduler in schedulers:
                scheduler.step()

    compare(loop)


@check
def scheduler_made_before_wrapping():
    alone, together = model(), model()
    for net, whole in ((alone, True), (together, False)):
        optimizer = sgd(net.parameters())
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        if not whole:
            optimizer = DistributedOptimizer(optimizer, net.named_parameters())
        with warnings.catch_warnings():
            # It watches the wrapped object, whose own step() nobody calls any more.
            warnings.simplefilter("ignore")
            for step in range(STEPS):
                simple(net, optimizer, whole, 1)
                scheduler.step()
    assert torch.allclose(flat(alone), flat(together), atol=1e-6)


def scaled(net, optimizer, whole, unscale, poisoned=None):
    if not hasattr(torch.amp, "GradScaler"):
        raise Skip("this torch has no GradScaler for CPUs")
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 10, growth_interval=2)
    for step in range(STEPS):
        x, y = batch(step, whole)
        if step == poisoned and (whole or unisono.rank() == 1):
            x = x * float("inf")
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
            loss = F.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        if unscale:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
    scales = unisono.allgather_object(scaler.get_scale())
    assert len(set(scales)) == 1, scales


@check
def grad_scaler():
    compare(lambda net, opt, whole: scaled(net, opt, whole, False))


@check
def grad_scaler_and_clipping():
    compare(lambda net, opt, whole: scaled(net, opt, whole, True))
    compare(lambda net, opt, whole: scaled(net, opt, whole, True), op=unisono.Average, num_groups=2)


@check
def grad_scaler_skips_together():
    # Only rank 1 computes an infinity; every rank has to skip that step.
    compare(lambda net, opt, whole: scaled(net, opt, whole, False, poisoned=1))
    compare(lambda net, opt, whole: scaled(net, opt, whole, True, poisoned=2))


@check
def closures():
    def loop(net, optimizer, whole):
        for step in range(2):
            x, y = (each.to(net[0].weight.dtype) for each in batch(step, whole))

            def closure():
                optimizer.zero_grad()
                loss = F.mse_loss(net(x), y)
                loss.backward()
                return loss

            loss = optimizer.step(closure)
            losses = unisono.allgather_object(loss.item())
            assert len(set(losses)) == 1, losses

    compare(loop)
    # The line search takes decisions by the loss, and multiplies rounding errors.
    compare(loop, net=lambda: model().double(), atol=1e-9, make=lambda p: torch.optim.LBFGS(
        p, lr=0.1, max_iter=4, line_search_fn="strong_wolfe"))


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
