# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What happens around steps that are pending: looks, faults, waits, and what is refused."""

import copy
import io
import os
import warnings

import torch
import torch.nn.functional as F

import unisono
import unisono.torch as hvd
from checks import check, raises, run_all
from scheduled import (SCHEDULES, STEPS, bits, compare, equal, is_pending, made, simple, states,
                       wrapped)
from torch_support import ALL, ME
from training import batch, same_on_all_ranks, sgd
from unisono.torch.optimizer.schedule import pending, transfers
from unisono.torch.optimizer.step import OutOfTurn


@check
def whoever_looks_finds_the_new_value():
    def looks(net, optimizer):
        return {
            "state_dict": lambda: list(net.state_dict().values()),
            "deepcopy": lambda: bits(copy.deepcopy(net)),
            "detach": lambda: [p.detach().clone() for p in net.parameters()],
            "data": lambda: [p.data.clone() for p in net.parameters()],
            "numpy": lambda: [torch.tensor(p.detach().numpy()) for p in net.parameters()],
            "stack": lambda: [torch.cat([p.flatten() for p in net.parameters()])],
            "foreach": lambda: torch._foreach_mul(list(net.parameters()), 1.0),
            "gradient": lambda: [p.grad.clone() for p in net.parameters()],
            "pickle": lambda: bits(torch.load(_saved(net), weights_only=False)),
            "state": lambda: [state["momentum_buffer"].clone() for state
                              in map(optimizer.state.get, net.parameters())],
        }

    plain = made()
    without = wrapped(plain)
    simple(plain, without)
    for schedule in SCHEDULES:
        for name in looks(plain, without):
            given = made()
            optimizer = wrapped(given, schedule=schedule)
            simple(given, optimizer)
            equal(looks(given, optimizer)[name](), looks(plain, without)[name](), name)
            optimizer.synchronize()


def _saved(net):
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    return file


@check
def optimizers_are_copied_saved_and_loaded_in_the_middle():
    def loop(net, optimizer):
        simple(net, optimizer, 3)
        saved = copy.deepcopy(optimizer.state_dict())
        simple(net, optimizer, 2)
        optimizer.load_state_dict(saved)
        simple(net, optimizer, 2)

    compare(loop)
    net = made()
    optimizer = wrapped(net, schedule="priority")
    simple(net, optimizer)
    another = copy.deepcopy(optimizer)
    assert type(another).__mro__[1:4] == type(optimizer).__mro__[1:4]
    equal(states(another), states(optimizer), "copy")


@check
def a_graph_of_old_values_is_refused_as_without_a_schedule():
    for schedule in (None, *SCHEDULES):
        net = made()
        optimizer = wrapped(net, schedule=schedule)
        simple(net, optimizer, 2)
        x, y = batch(0, False)
        kept = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
        raises(RuntimeError, kept.backward, "modified by an inplace operation")
        hvd.barrier()
        break_off(optimizer)


def break_off(optimizer):
    optimizer._exchange.abandon()


@check
def clipping_needs_all_gradients():
    def loop(net, optimizer):
        for step in range(STEPS):
            x, y = batch(step, False)
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            with optimizer.skip_synchronize():
                optimizer.step()

    compare(loop)
    for schedule in SCHEDULES:
        net = made()
        optimizer = wrapped(net, schedule=schedule)
        simple(net, optimizer, 2)
        optimizer.zero_grad()
        net(batch(0, False)[0]).sum().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-6)
        raises(OutOfTurn, optimizer.step, "was changed while it was being exchanged")


@check
def hooks_around_steps_see_one_step():
    counted = []

    def loop(net, optimizer):
        calls = []
        optimizer.register_step_post_hook(lambda *_: calls.append(None))
        simple(net, optimizer)
        counted.append(len(calls))

    compare(loop)
    assert set(counted) == {STEPS}, counted


@check
def synchronize_and_flush_end_the_step():
    for schedule in SCHEDULES:
        net = made()
        optimizer = wrapped(net, schedule=schedule)
        simple(net, optimizer, 3)
        assert all(is_pending(net.first))
        if ME == 0:
            net.state_dict()  # what one rank has looked at makes no difference
        optimizer.synchronize()
        assert not any(is_pending(net.first) + is_pending(net.idle))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            simple(net, optimizer, 1)
        assert optimizer.flush() and not optimizer.flush()


@check
def synchronize_means_the_same_on_ranks_without_gradients_or_with_hooks():
    for schedule in SCHEDULES:
        for odd in ("no gradients", "a hook"):
            net = made()
            optimizer = wrapped(net, schedule=schedule)
            simple(net, optimizer, 2)
            if odd == "a hook" and ME == 0:
                optimizer.register_step_post_hook(lambda *_: None)
            for step in range(3):
                x, y = batch(step, False)
                optimizer.zero_grad()
                if odd == "a hook" or ME != 0:
                    F.mse_loss(net(x).float(), y).backward()
                optimizer.step()
                optimizer.synchronize()
                same_on_all_ranks(net)
            simple(net, optimizer, 2)
            optimizer.synchronize()
            same_on_all_ranks(net)


@check
def parameters_added_and_thawed_later():
    def loop(net, optimizer):
        net.idle.weight.requires_grad_(False)
        simple(net, optimizer, 2)
        net.idle.weight.requires_grad_(True)
        extra = torch.nn.Parameter(torch.ones(2))
        optimizer.add_param_group({"params": [extra], "lr": 0.5})
        handle = net.last.register_forward_hook(lambda module, inputs, output: output * extra)
        simple(net, optimizer, 3)
        handle.remove()
        added.append(extra.detach().clone())

    added = []
    compare(loop)
    equal(added, [added[0]] * len(added), "added")


@check
def what_is_used_first_is_the_most_urgent():
    sent = []
    net = made()
    optimizer = wrapped(net, schedule="priority", partition_bytes=64)
    engine = optimizer._exchange.transfer.engine
    original = type(engine).allreduce_async_

    def watched(self, tensor, **keywords):
        sent.append((keywords["name"], keywords["priority"]))
        return original(self, tensor, **keywords)

    type(engine).allreduce_async_ = watched
    try:
        simple(net, optimizer, 2)
    finally:
        type(engine).allreduce_async_ = original
    priority = {}
    for name, urgency in sent:
        assert priority.setdefault(name, urgency) == urgency
    parts = {name for name in priority if name.endswith("first.weight/part.5")}
    assert len(parts) == 1, sorted(priority)
    order = [max(value for name, value in priority.items() if part in name)
             for part in ("first.weight", "middle.weight", "last.weight", "idle.weight")]
    assert order == sorted(order, reverse=True) and len(set(order)) == 4, order


@check
def each_layer_waits_for_its_own_gradients_only():
    layers = [torch.nn.Linear(6, 6) for _ in range(3)]
    net = torch.nn.Sequential(*layers)
    hvd.broadcast_parameters(net.state_dict())
    optimizer = wrapped(net, schedule="priority")
    simple_sum(net, optimizer)
    x = torch.ones(2, 6)
    if ME == 1:
        # Without the last layer: its gradients, zeros, are submitted by step() at the earliest,
        # which is after the other rank has used the layers before it.
        layers[1](layers[0](x)).sum().backward()
        hvd.allreduce(torch.ones(1), name="the first layers have been used")
        optimizer.step()
        net(x)
    else:
        net(x).sum().backward()
        optimizer.step()
        before = layers[1](layers[0](x))
        assert not any(is_pending(layers[0]) + is_pending(layers[1]))
        assert all(is_pending(layers[2]))
        waiting = [step for step in optimizer._exchange._pending.values()]
        assert len(waiting) == 2 and not any(step.has_arrived() for step in waiting)
        hvd.allreduce(torch.ones(1), name="the first layers have been used")
        layers[2](before)
    assert not any(is_pending(layers[2]))
    same_on_all_ranks(net)


def simple_sum(net, optimizer):
    optimizer.zero_grad()
    net(torch.ones(2, 6)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


@check
def each_layer_waits_for_its_own_gathers_only():
    layers = [torch.nn.Linear(6, 6) for _ in range(3)]
    net = torch.nn.Sequential(*layers)
    hvd.broadcast_parameters(net.state_dict())
    optimizer = wrapped(net, schedule="two-phase")
    simple_sum(net, optimizer)
    x = torch.ones(2, 6)
    original = transfers.Scattered.gather

    def late(self):
        if self._gathers is None and self._name.endswith("2.weight"):
            hvd.allreduce(torch.ones(1), name="the layers before have been used")
        original(self)

    net(x).sum().backward()
    if ME == 1:
        transfers.Scattered.gather = late
        try:
            optimizer.step()
        finally:
            transfers.Scattered.gather = original
        net(x)
    else:
        optimizer.step()
        before = layers[1](layers[0](x))
        assert not any(is_pending(layers[0]) + is_pending(layers[1]))
        assert pending.is_pending(layers[2].weight)
        hvd.allreduce(torch.ones(1), name="the layers before have been used")
        layers[2](before)
    assert not any(is_pending(layers[2]))
    same_on_all_ranks(net)


@check
def what_cannot_be_scheduled_is_refused():
    net = made()

    def make(make=sgd, **arguments):
        return lambda: wrapped(net, make, **arguments)

    wrong = unisono.InvalidArgument
    raises(wrong, make(schedule="soon"), "schedule is 'soon'", "'priority' or 'two-phase'")
    raises(wrong, make(schedule="priority", partition_bytes=0), "partition_bytes is 0")
    for arguments in ({"lag": 1}, {"num_groups": 2}, {"gradients_in_arena": True}):
        raises(wrong, make(schedule="priority", **arguments), "exclude each other")
    raises(wrong, make(schedule="two-phase", op=hvd.Adasum), "Adasum needs them whole")
    raises(wrong, make(schedule="two-phase", compression=hvd.Compression.fp16), "as they are")
    raises(wrong, make(torch.optim.LBFGS, schedule="priority"), "LBFGS may be used like that")
    optimizer = make(schedule="priority")()
    raises(wrong, lambda: optimizer.step(lambda: 0), "leave out schedule")


@check
def optimizers_of_ones_own_say_whether_they_can():
    class Own(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    class Declared(Own):
        steps_parameters_alone = True

    class Counting(Declared):
        def step(self, closure=None):
            self.param_groups[0]["count"] = self.param_groups[0].get("count", 0) + 1
            return super().step(closure)

    class Inherited(torch.optim.SGD):
        pass

    def with_class(kind):
        return lambda parameters: kind(parameters, lr=0.1)

    raises(unisono.InvalidArgument, lambda: wrapped(made(), with_class(Own), schedule="priority"),
           "steps_parameters_alone = True")
    compare(make=with_class(Declared))
    compare(make=with_class(Inherited))
    net = made()
    optimizer = wrapped(net, with_class(Counting), schedule="priority")
    raises(unisono.InvalidArgument, lambda: simple(net, optimizer, 1), "changes 'count'")


@check
def an_optimizer_that_is_dropped_has_stepped():
    for schedule in SCHEDULES:
        plain, given = made(), made()
        simple(plain, wrapped(plain))
        simple(given, wrapped(given, schedule=schedule))
        equal(bits(given), bits(plain), schedule)


@check
def planned_steps_are_the_same():
    def loop(net, optimizer):
        simple(net, optimizer, 40)

    compare(loop)


@check
def both_phases_are_planned():
    net = made()
    optimizer = wrapped(net, schedule="two-phase", partition_bytes=64)
    looks = []  # a busy machine may end a plan at any time, but not each one before it is followed
    for _ in range(6):
        simple(net, optimizer, 15)
        looks.append(hvd.stats()["order"])
    optimizer.synchronize()
    assert any(look["planned"] for look in looks), [look["reason"] for look in looks]
    parts = 6 + 8  # of two layers
    assert any(plan["tensors"] > 2 * parts for look in looks for plan in look["known"]), looks


@check
def a_forked_child_is_told_that_it_cannot_end_a_step():
    net = made()
    optimizer = wrapped(net, schedule="priority")
    simple(net, optimizer, 2)
    child = os.fork()
    if child == 0:
        try:
            net.state_dict()
        except unisono.Forked:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    optimizer.synchronize()


@check
def leaving_ends_the_step():
    plain, given = made(), made()
    simple(plain, wrapped(plain))
    optimizer = wrapped(given, schedule="priority")
    simple(given, optimizer)
    wanted = bits(plain)
    assert all(is_pending(given.first))
    assert ALL == hvd.size()
    hvd.shutdown()
    assert not any(is_pending(given.first))
    equal(bits(given), wanted)


run_all()
