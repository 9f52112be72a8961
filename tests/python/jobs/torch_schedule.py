# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Training with a schedule against the same training without one, on two ranks: to the bit."""

import torch
import torch.nn.functional as F

import unisono.torch as hvd
from checks import check, raises, run_all
from scheduled import STEPS, Net, adamw, bits, compare, equal, made, simple, wrapped
from torch_support import ME
from training import batch


@check
def sgd_with_momentum():
    compare()
    compare(partition_bytes=4 << 20)


@check
def adam_and_its_kin():
    for make in (adamw, lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
                 lambda p: torch.optim.Adam(p, lr=torch.tensor(0.01)),
                 lambda p: torch.optim.NAdam(p, lr=0.01), lambda p: torch.optim.RMSprop(p, lr=0.01),
                 lambda p: torch.optim.Adagrad(p, lr=0.01)):
        compare(make=make)


@check
def implementations_for_many_tensors_at_once():
    compare(make=lambda p: torch.optim.AdamW(p, lr=0.01, foreach=True))
    compare(make=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True))
    try:
        torch.optim.AdamW([torch.nn.Parameter(torch.ones(2))], fused=True)
    except RuntimeError:
        return  # this torch has none for the CPU
    compare(make=lambda p: torch.optim.AdamW(p, lr=0.01, fused=True))


@check
def groups_with_settings_of_their_own():
    def make(parameters):
        parameters = list(parameters)
        return torch.optim.SGD([{"params": parameters[:2], "lr": 0.5, "momentum": 0.5},
                                {"params": parameters[2:], "weight_decay": 0.1}], lr=0.05)

    compare(make=make)


@check
def a_scheduler_changes_the_next_step_and_not_the_pending_one():
    def loop(net, optimizer):
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        simple(net, optimizer, after=lambda step: scheduler.step())

    compare(loop)
    compare(loop, make=lambda p: torch.optim.Adam(p, lr=torch.tensor(0.01)))


@check
def gradient_accumulation():
    def loop(net, optimizer):
        for step in range(STEPS):
            optimizer.zero_grad()
            for part in range(3):
                x, y = batch(10 * step + part, False)
                F.mse_loss(net(x), y).backward()
            optimizer.step()

    compare(loop, backward_passes_per_step=3)


@check
def every_way_to_zero_gradients():
    def loop_with(zero):
        def loop(net, optimizer):
            for step in range(STEPS):
                x, y = batch(step, False)
                if zero != "after forward":
                    zero(net, optimizer)
                loss = F.mse_loss(net(x), y)
                if zero == "after forward":
                    optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return loop

    compare(loop_with(lambda net, optimizer: optimizer.zero_grad(set_to_none=False)))
    compare(loop_with(lambda net, optimizer: net.zero_grad()))
    compare(loop_with(lambda net, optimizer: None))
    compare(loop_with("after forward"))


@check
def layers_that_only_some_steps_and_ranks_use():
    class Sometimes(Net):
        steps = 0

        def forward(self, x):
            self.steps += 1
            x = x + F.pad(self.idle(x[:, :3]), (0, 3)) if (self.steps + ME) % 3 == 0 else x
            return super().forward(x)

    compare(net=Sometimes)
    compare(net=Sometimes, make=adamw)


@check
def parameters_that_modules_share_and_that_none_calls():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6)
            self.second.weight = self.first.weight
            self.borrowed = torch.nn.Linear(6, 2)  # its forward is never called
            self.scale = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            x = torch.tanh(self.second(torch.tanh(self.first(x))))
            return F.linear(x, self.borrowed.weight, self.borrowed.bias) * self.scale

    compare(net=Tied)


@check
def types_side_by_side():
    class Mixed(Net):
        def __init__(self):
            super().__init__()
            self.middle.double()
            self.last.to(torch.bfloat16)

        def forward(self, x):
            x = torch.tanh(self.first(x)).double()
            return self.last(torch.tanh(self.middle(x)).to(torch.bfloat16))

    compare(net=Mixed)


@check
def strided_scalar_and_empty_parameters():
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.turned = torch.nn.Parameter(torch.randn(2, 60).t()[::10])
            self.scale = torch.nn.Parameter(torch.tensor(1.5))
            self.nothing = torch.nn.Parameter(torch.empty(0, 2))

        def forward(self, x):
            return x @ torch.cat([self.turned, self.nothing]) * self.scale

    compare(net=Odd)


@check
def sparse_gradients():
    class Words(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(10, 6, sparse=True)
            self.last = torch.nn.Linear(6, 2)

        def forward(self, x):
            return self.last(self.words(x.abs().long().clamp(max=9)).sum(1))

    compare(net=Words, make=lambda p: torch.optim.SGD(p, lr=0.1))
    compare(net=Words, make=lambda p: torch.optim.SGD(p, lr=0.1), sparse_as_dense=True)


@check
def averages_that_divide_before_and_sums():
    compare(gradient_predivide_factor=2.0)
    compare(op=hvd.Sum)


@check
def priority_with_compression_and_adasum():
    compare(schedules=["priority"], compression=hvd.Compression.bf16)
    plain, given = made(), made()
    simple(plain, wrapped(plain, op=hvd.Adasum))
    simple(given, wrapped(given, op=hvd.Adasum, schedule="priority", partition_bytes=64))
    for one, other in zip(bits(plain), bits(given)):
        assert torch.allclose(one, other, atol=1e-6)


@check
def evaluation_in_the_middle():
    def loop(net, optimizer):
        x, _ = batch(0, True)
        seen = []

        def evaluate(step):
            net.eval()
            with torch.inference_mode() if step % 2 else torch.no_grad():
                seen.append(net(x).clone())
            net.train()

        simple(net, optimizer, after=evaluate)
        results.append(seen)

    results = []
    compare(loop)
    for seen in results:
        equal(seen, results[0], "evaluation")


@check
def an_exception_in_forward_and_on():
    def loop(net, optimizer):
        failing = [False]

        def fail(*_):
            if failing[0]:
                raise ZeroDivisionError("on purpose")

        net.middle.register_forward_pre_hook(fail)
        for step in range(STEPS):
            x, y = batch(step, False)
            failing[0] = step % 2 == 1
            if failing[0]:
                raises(ZeroDivisionError, lambda: net(x))
                failing[0] = False
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()

    compare(loop)


@check
def two_forwards_before_a_backward():
    def loop(net, optimizer):
        for step in range(STEPS):
            x, y = batch(step, False)
            one, two = net(x), net(2 * x)
            optimizer.zero_grad()
            F.mse_loss(one + two, y).backward()
            optimizer.step()

    compare(loop)


@check
def a_gradient_scaler():
    def loop(net, optimizer):
        scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
        for step in range(STEPS):
            x, y = batch(step, False)
            optimizer.zero_grad()
            scaler.scale(F.mse_loss(net(x), y)).backward()
            scaler.step(optimizer)
            scaler.update()

    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        compare(loop)


@check
def steps_without_a_backward_between():
    def loop(net, optimizer):
        simple(net, optimizer, 2)
        for _ in range(2):
            optimizer.step()
            optimizer.step()

    compare(loop)


run_all()
