# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Training on every rank's part of a batch against training on the whole batch in one process."""

import contextlib
import warnings

import torch
import torch.nn.functional as F

import unisono
from checks import Skip, check, run_all
from training import STEPS, batch, compare, flat, model, sgd, simple
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


if __name__ == "__main__":
    unisono.init()
    run_all()
