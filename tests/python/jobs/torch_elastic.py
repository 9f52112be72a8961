# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Elastic state on two ranks: sharing, going back, and starting again."""

import torch
from checks import check, raises, run_all

import unisono
import unisono.torch as hvd

hvd.init()
ME = hvd.rank()


def training(**values):
    torch.manual_seed(ME)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 * (ME + 1))
    return hvd.elastic.TorchState(model, optimizer, **values)


def step(state):
    state.optimizer.zero_grad()
    state.model(torch.ones(4, 3)).sum().backward()
    state.optimizer.step()


def fault(retryable=True):
    error = unisono.PeerLost("rank 9 has died, says this test")
    error.retryable = retryable
    return error


@check
def sync_gives_everybody_the_state_of_rank_0():
    state = training(epoch=ME, notes=[ME])
    if ME == 0:
        step(state)
    state.sync()
    assert state.epoch == 0 and state.notes == [0]
    weights = hvd.allgather(state.model.weight.detach()[None])
    assert torch.equal(weights[0], weights[1])
    assert state.optimizer.param_groups[0]["lr"] == 0.1
    moments = hvd.allgather(state.optimizer.state[state.model.weight]["exp_avg"][None])
    assert torch.equal(moments[0], moments[1])
    step(state)
    state.notes.append(1)
    state.restore()
    assert torch.equal(state.model.weight, weights[0]) and state.notes == [0]


@check
def samplers_are_shared_by_the_count_of_rank_0():
    sampler = hvd.elastic.ElasticSampler(range(10), shuffle=False)
    assert len(sampler) == 5 and list(sampler) == list(range(ME, 10, 2))
    sampler.record_batch(0, 2)
    assert sampler.processed_num == 4, "the batches of both ranks"
    state = hvd.elastic.TorchState(sampler=sampler, epoch=0)
    state.sync()
    assert sampler.state_dict() == {"epoch": 0, "processed_num": 4}
    state.on_reset()
    assert list(sampler) == list(range(4 + ME, 10, 2))
    sampler.record_batch(0, 1)
    state.restore()
    assert sampler.processed_num == 4
    if ME == 1:
        sampler.set_epoch(7)
        sampler.record_batch(0, 1)
    state.sync()
    assert sampler.epoch == 0 and sampler.processed_num == 4


@check
def parts_of_a_state_that_only_one_rank_has_values_for():
    state = hvd.elastic.TorchState(**({"epoch": 3} if ME == 0 else {}))
    state.sync()
    assert state.epoch == 3


@check
def any_rank_may_report_new_hosts():
    state = training(epoch=0)
    state.commit()
    if ME == 1:
        state.on_hosts_updated(1.0, 1)
    state.epoch = 5
    interrupt = raises(hvd.HostsUpdatedInterrupt, state.commit)
    assert not interrupt.skip_sync
    state.check_host_updates()
    state.epoch = 6
    state.restore()
    assert state.epoch == 5, "saved before the check"


@check
def codecs_go_on_from_the_last_commit():
    def trained(fail_at):
        torch.manual_seed(5)
        model = torch.nn.Linear(16, 16)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                             model.named_parameters(),
                                             compression="ef|warmup:8|topk:64:1")
        state, attempts = hvd.elastic.TorchState(model, optimizer, step=0), []

        @hvd.elastic.run
        def train(state):
            attempts.append(state.step)
            while state.step < 8:
                state.optimizer.zero_grad()
                made = torch.Generator().manual_seed(10 * state.step + ME)
                state.model(torch.randn(4, 16, generator=made)).square().sum().backward()
                state.optimizer.step()
                state.step += 1
                if state.step % 4 == 0:
                    state.commit()
                if state.step == fail_at and len(attempts) == 1:
                    raise fault()

        train(state)
        kept = bytes(state.optimizer.state_dict()["unisono_codec_state"].numpy())
        assert kept.count(b"weight") == 1, "of this optimizer alone"
        return model.weight.detach().clone(), attempts

    weight, attempts = trained(None)
    assert attempts == [0]
    again, attempts = trained(6)
    assert attempts == [0, 4]
    assert torch.equal(again, weight), "what was not sent at the commit is not sent later"


@check
def run_goes_back_to_the_last_commit_and_begins_again():
    state = training(step=0, faults=0)
    resets = []
    state.register_reset_callbacks([lambda: resets.append(hvd.size())])
    attempts = []

    @hvd.elastic.run
    def train(state, steps, *, fail_at):
        attempts.append(state.step)
        while state.step < steps:
            hvd.allreduce(torch.ones(3), name=f"step.{state.step}")
            step(state)
            state.step += 1
            if state.step % 2 == 0:
                state.commit()
            if state.step == fail_at and len(attempts) == 1:
                raise fault()
        return state.step

    assert train(state, 6, fail_at=3) == 6
    assert attempts == [0, 2] and resets == [2]
    weights = hvd.allgather(state.model.weight.detach()[None])
    assert torch.equal(weights[0], weights[1])


@check
def a_fault_of_one_rank_brings_the_others_back_too():
    state = training(step=0)
    attempts = []

    @hvd.elastic.run
    def train(state):
        attempts.append(state.step)
        while state.step < 4:
            if ME == 0 and state.step == 2 and len(attempts) == 1:
                raise fault()
            hvd.allreduce(torch.ones(3), name="together")
            state.step += 1
            state.commit()

    train(state)
    assert attempts == [0, 2], attempts


@check
def run_keeps_the_state_when_hosts_change():
    state = training(step=0)
    attempts = []

    @hvd.elastic.run
    def train(state):
        attempts.append(state.step)
        while state.step < 4:
            state.step += 1
            if state.step == 2 and len(attempts) == 1:
                raise hvd.HostsUpdatedInterrupt(skip_sync=ME == 5)
        return "done"

    assert train(state) == "done" and attempts == [0, 2]


@check
def run_raises_what_would_come_again():
    state = training(step=0)
    calls = []

    @hvd.elastic.run
    def train(state):
        calls.append(1)
        hvd.allreduce(torch.ones(2 + ME), name="differs")

    raises(unisono.Mismatch, lambda: train(state), "Mismatched ALLREDUCE tensor shapes")
    assert calls == [1]

    @hvd.elastic.run
    def divide(state):
        calls.append(1)
        return 1 / 0

    raises(ZeroDivisionError, lambda: divide(state))
    assert calls == [1, 1]
    raises(unisono.PeerLost, lambda: hvd.elastic.run(lambda _: _raise(fault(False)))(state))


def _raise(error):
    raise error


run_all()
