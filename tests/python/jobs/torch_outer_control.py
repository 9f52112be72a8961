# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Outer steps that do not go straight on: checkpoints, ranks that end early, what is not finite."""

import copy

import torch

import unisono
import unisono.torch as hvd
from checks import Skip, check, raises, run_all
from torch_outer_support import (RANK, SIZE, adam, anchors, close, flat, local_step, made, model,
                                 same_everywhere, train)
from unisono.torch import outer


def continued(net, optimizer, steps, first):
    train(net, optimizer, steps, first)
    return flat(net), anchors(optimizer), optimizer.state_dict()["outer"]["parameters"]


@check
def a_checkpoint_goes_on_bit_for_bit():
    def build(exchange, order):
        net = model()
        named = list(net.named_parameters())
        inner = torch.optim.AdamW([p for _, p in order(named)], lr=0.02)
        return net, outer.OuterOptimizer(
            inner, named, steps=6, exchange=exchange, delay=4,
            fragments=[["2.bias", "0.weight"], ["0.bias", "2.weight"]])

    for make in (outer.Allreduce, lambda: outer.TopK(chunk=16, k=3)):
        net, optimizer = build(make(), list)
        train(net, optimizer, 14)  # the second fragment is under way
        assert any(each["flight"] for each in optimizer.state_dict()["outer"]["fragments"])
        kept = copy.deepcopy((net.state_dict(), optimizer.state_dict()))
        values, points, parameters = continued(net, optimizer, 12, 14)
        other, loaded = build(make(), lambda named: named[::-1])
        train(other, loaded, 3)
        other.load_state_dict(kept[0])
        loaded.load_state_dict(kept[1])
        again, points_again, parameters_again = continued(other, loaded, 12, 14)
        assert torch.equal(again, values)
        for name, entry in parameters.items():
            found = parameters_again[name]
            assert torch.equal(found["anchor"], entry["anchor"])
            assert torch.equal(found["state"]["velocity"], entry["state"]["velocity"])
            assert (found["residual"] is None) == (entry["residual"] is None)
            assert entry["residual"] is None or torch.equal(found["residual"], entry["residual"])


@check
def a_state_that_does_not_fit_changes_nothing():
    net = model()
    optimizer = made(net, steps=3, delay=1, fragments=2)
    train(net, optimizer, 3)
    state, before = copy.deepcopy(optimizer.state_dict()), anchors(optimizer).clone()
    raises(ValueError, lambda: optimizer.load_state_dict(optimizer.inner.state_dict()),
           "no outer part", "restart()")
    raises(ValueError, lambda: made(model(), steps=3).load_state_dict(state), "cut differently")
    plain = made(model(), steps=3, update=outer.Averaging())
    raises(ValueError, lambda: plain.load_state_dict(state), "velocity", "nothing")
    other = torch.nn.Sequential(torch.nn.Linear(2, 2))
    torch.nn.init.zeros_(other[0].weight), torch.nn.init.zeros_(other[0].bias)
    raises(ValueError, lambda: made(other).load_state_dict(state), "group 0")
    wrong = copy.deepcopy(state)
    wrong["outer"]["parameters"]["0.bias"]["anchor"] = torch.zeros(3)
    raises(ValueError, lambda: optimizer.load_state_dict(wrong), "0.bias", "(3,)")
    assert torch.equal(anchors(optimizer), before)
    optimizer.load_state_dict(state)
    optimizer.synchronize()


@check
def ranks_with_fewer_steps_join():
    for arguments in (dict(), dict(fragments=2, delay=1), dict(exchange=outer.TopK(16, 4)),
                      dict(steps=None)):
        arguments = {"steps": 4, **arguments}
        net = model()
        optimizer = made(net, update=outer.Averaging(), **arguments)
        for epoch in range(2):
            train(net, optimizer, 5 + 3 * RANK, first=20 * epoch)
            if arguments["steps"] is None:
                for _ in range(RANK):
                    optimizer.synchronize()  # each rank as often as it likes
            optimizer.join()
            assert same_everywhere(flat(net)) and same_everywhere(anchors(optimizer))
            # By hand nobody counts steps; otherwise ranks go on from the same count.
            counts = set(hvd.allgather_object(optimizer._rounds.step))
            assert len(counts) == 1 or arguments["steps"] is None, counts


@check
def an_average_is_over_those_that_took_steps():
    """Rank r takes r steps of minus one; after the first round only those left count."""
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimizer = outer.OuterOptimizer(torch.optim.SGD([parameter], lr=1.0), steps=1,
                                     update=outer.Averaging())
    for _ in range(RANK):
        parameter.grad = torch.ones(2)
        optimizer.step()
    optimizer.join()
    assert parameter.tolist() == [1.0 - SIZE] * 2


@check
def a_change_that_is_not_finite_is_dropped_by_all():
    for exchange in (None, outer.TopK(chunk=16, k=3, decay=1.0)):
        net = model()
        optimizer = made(net, steps=2, exchange=exchange)
        train(net, optimizer, 4)
        before = copy.deepcopy(optimizer.state_dict()["outer"]["parameters"])
        local_step(net, optimizer, 4)
        if RANK == SIZE - 1:
            net[0].weight.grad.fill_(float("nan"))
            optimizer.inner.step()
        local_step(net, optimizer, 5)
        stats = optimizer.stats()
        assert (stats["outer_steps"], stats["dropped_steps"]) == (2, 1), stats
        after = optimizer.state_dict()["outer"]["parameters"]
        for name, entry in before.items():
            assert torch.equal(after[name]["anchor"], entry["anchor"])
            assert torch.equal(after[name]["state"]["velocity"], entry["state"]["velocity"])
            assert exchange is None or torch.equal(after[name]["residual"], entry["residual"])
        assert flat(net).isfinite().all(), "the rank goes back to where the round began"
        assert torch.equal(flat(net), anchors(optimizer)) == (RANK == SIZE - 1)
        train(net, optimizer, 2, first=6)
        assert optimizer.stats()["outer_steps"] == 3 and same_everywhere(flat(net))
        assert flat(net).isfinite().all()


@check
def synchronize_says_when_it_dropped_something():
    net = model()
    optimizer = made(net, steps=None)
    train(net, optimizer, 1)
    if RANK == 0:
        with torch.no_grad():
            net[2].bias.fill_(float("inf"))
    assert optimizer.synchronize() is False
    train(net, optimizer, 1)
    assert optimizer.synchronize() is True and same_everywhere(flat(net))


@check
def who_sent_nothing_in_a_dropped_round_does_not_count_in_the_next():
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimizer = outer.OuterOptimizer(torch.optim.SGD([parameter], lr=1.0), steps=None,
                                     update=outer.Averaging())
    for round_number, last in enumerate((float("inf"), 1.0)):
        if RANK > 0:
            parameter.grad = torch.full((2,), last if RANK == SIZE - 1 else 1.0)
            optimizer.step()
        assert optimizer.synchronize() is (round_number == 1)
    # All but the first and the last send both steps, the last its second.
    close(parameter.detach(), torch.full((2,), -(2.0 * (SIZE - 2) + 1) / (SIZE - 1)))


def largest_of_four():
    exchange = outer.TopK(chunk=4, k=1, bits=None, decay=1.0)
    parameter = torch.nn.Parameter(torch.zeros(4))
    return exchange, parameter, outer.OuterOptimizer(
        torch.optim.SGD([parameter], lr=1.0), steps=1, exchange=exchange, update=outer.Averaging())


@check
def an_average_that_overflows_leaves_residuals_alone():
    exchange, parameter, optimizer = largest_of_four()
    for large, dropped in ((-3e38, 1), (0.0, 1)):
        parameter.data.copy_(torch.tensor([large, -1.0, 0.0, 0.0]))
        optimizer._rounds.advance()
        assert optimizer.stats()["dropped_steps"] == dropped
        assert not any(kept.any() for kept in exchange.residuals().values())
    assert parameter.tolist() == [0.0, -1.0, 0.0, 0.0]


@check
def a_residual_that_makes_what_is_sent_infinite_drops_the_round():
    exchange, parameter, optimizer = largest_of_four()
    name = optimizer._rounds.fragments[0].parameters[0].name
    kept = torch.tensor([3e38 if RANK == 0 else 0.0, 0.0, 0.0, 0.0])
    exchange.load_residuals({name: kept})
    parameter.data[0] = -3e38 if RANK == 0 else -1.0
    optimizer._rounds.advance()
    assert optimizer.stats()["dropped_steps"] == 1
    assert torch.equal(exchange.residuals()[name], kept)
    assert parameter.tolist() == [0.0 if RANK == 0 else -1.0, 0.0, 0.0, 0.0]


@check
def no_sync_keeps_steps_local():
    net, reference = model(), model()
    optimizer = made(net, steps=2, update=outer.Averaging())
    inner = adam(reference)
    with optimizer.no_sync():
        for step in range(5):
            local_step(net, optimizer, step)
            local_step(reference, inner, step)
    assert torch.equal(flat(net), flat(reference))
    assert optimizer.stats()["outer_steps"] == 0
    train(net, optimizer, 2, first=5)
    train(reference, inner, 2, first=5)
    assert optimizer.stats()["outer_steps"] == 1
    close(flat(net), hvd.allgather(flat(reference)[None], name="local").mean(0))


@check
def by_hand_ranks_take_as_many_steps_as_they_like():
    net = model()
    optimizer = made(net, steps=None, update=outer.Averaging(), fragments=2)
    for round in range(2):
        train(net, optimizer, 1 + RANK, first=10 * round)
        assert optimizer.synchronize()
    assert same_everywhere(flat(net)) and optimizer.stats()["outer_steps"] == 4


@check
def what_ranks_disagree_on_is_found_at_once():
    net = model()
    raises(unisono.Mismatch, lambda: made(net, steps=3 + RANK), "same arguments", "steps=4")
    raises(unisono.Mismatch, lambda: made(net, exchange=outer.TopK(16, 1 + RANK)), "TopK")
    with torch.no_grad():
        net[2].bias += RANK
    raises(unisono.Mismatch, lambda: made(net), "2.bias", "broadcast_parameters")


@check
def a_rank_outside_of_the_set_stays_local():
    some = hvd.add_process_set(range(SIZE - 1))
    net, reference = model(), model()
    optimizer = made(net, steps=2, process_set=some, update=outer.Averaging())
    train(net, optimizer, 4)
    optimizer.synchronize()
    optimizer.join()
    train(reference, adam(reference), 4)
    outside = RANK == SIZE - 1
    if outside:
        assert torch.equal(flat(net), flat(reference))
    else:
        assert all(torch.equal(each, flat(net))
                   for each in hvd.allgather_object(flat(net), process_set=some))
    assert (optimizer.stats()["outer_steps"] == 0) == outside
    hvd.remove_process_set(some)


@check
def gradients_within_a_host_and_outer_steps_between_hosts():
    if SIZE != 4:
        raise Skip("two hosts of two ranks each are four")
    hosts = [hvd.add_process_set(ranks) for ranks in ([0, 1], [2, 3])]
    between = [hvd.add_process_set(ranks) for ranks in ([0, 2], [1, 3])]
    net = model()
    inner = hvd.DistributedOptimizer(adam(net), net.named_parameters(),
                                     process_set=hosts[RANK // 2])
    optimizer = outer.OuterOptimizer(inner, net.named_parameters(), steps=3,
                                     process_set=between[RANK % 2])
    train(net, optimizer, 2)
    values = hvd.allgather_object(flat(net))
    assert torch.equal(values[0], values[1]) and torch.equal(values[2], values[3])
    assert not torch.equal(values[0], values[2])
    train(net, optimizer, 4, first=2)
    assert same_everywhere(flat(net))
    for process_set in hosts + between:
        hvd.remove_process_set(process_set)


@check
def schedulers_and_elastic_state_take_it():
    net = model()
    optimizer = made(net, steps=2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    state = hvd.elastic.TorchState(net, optimizer, step=0)
    train(net, optimizer, 3)
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.01 and optimizer.inner.state
    state.commit()
    values = flat(net)
    train(net, optimizer, 3, first=3)
    state.restore()
    assert torch.equal(flat(net), values) and optimizer._rounds.step == 3
    train(net, optimizer, 1, first=3)
    assert same_everywhere(flat(net))


@check
def two_optimizers_do_not_meet():
    first, second = model(), model()
    one, two = made(first, steps=3, delay=2), made(second, steps=3, delay=1)
    for step in range(9):
        local_step(first, one, step)
        local_step(second, two, step)
    assert same_everywhere(anchors(one)) and same_everywhere(anchors(two))


@check
def restart_begins_from_the_parameters():
    net = model()
    optimizer = made(net, steps=2, exchange=outer.TopK(16, 4))
    train(net, optimizer, 5)
    with torch.no_grad():
        for p in net.parameters():
            p.fill_(0.5)
    optimizer.restart()
    assert torch.equal(anchors(optimizer), flat(net))
    assert not optimizer._rounds.exchange.residuals()
    train(net, optimizer, 1)
    assert same_everywhere(flat(net))


@check
def a_job_goes_on_with_the_next_engine():
    """What was under way when the job ended is forgotten with load_state_dict()."""
    net = model()
    optimizer = made(net, steps=3, delay=2)
    state, values = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(net.state_dict())
    train(net, optimizer, 3)
    optimizer._rounds.settle()
    hvd.shutdown()
    hvd.init()
    net.load_state_dict(values)
    optimizer.load_state_dict(state)
    train(net, optimizer, 5)
    assert same_everywhere(anchors(optimizer)) and optimizer.stats()["outer_steps"] == 1


run_all()
