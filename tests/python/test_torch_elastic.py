# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Elastic state: on two ranks, and the parts that need none."""

import pytest

import checked

torch = pytest.importorskip("torch", reason="torch is not installed")
import unisono.torch as hvd  # noqa: E402
from unisono.torch.elastic import ElasticSampler, ObjectState, TorchState  # noqa: E402
from unisono.torch.elastic import sampler as sampler_module  # noqa: E402

job, test_on_two_ranks, test_the_job_ends_well = checked.tests_of("torch_elastic.py")


def test_values_go_back_to_the_last_save():
    state = ObjectState(epoch=1, losses=[0.5])
    state.epoch, state.losses[0] = 2, 9.0
    state.losses.append(0.25)
    state.restore()
    assert (state.epoch, state.losses) == (1, [0.5])
    state.losses.append(0.25)
    state.commit()
    state.losses.clear()
    state.restore()
    state.losses.clear()
    state.restore()
    assert state.losses == [0.5, 0.25]


def test_parts_go_back_to_the_last_save():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    state = TorchState(model, optimizer, scheduler=scheduler, batch=0)
    assert state.model is model and state.optimizer is optimizer and state.scheduler is scheduler
    weight = model.weight.detach().clone()

    def step():
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        scheduler.step()

    step()
    assert not torch.equal(model.weight, weight)
    state.restore()
    assert torch.equal(model.weight, weight)
    assert optimizer.param_groups[0]["lr"] == 0.1 and scheduler.last_epoch == 0
    step()
    state.commit()
    weight = model.weight.detach().clone()
    step()
    state.restore()
    assert torch.equal(model.weight, weight) and optimizer.param_groups[0]["lr"] == 0.05


def test_a_part_that_is_replaced_is_kept_from_then_on():
    state = TorchState(torch.nn.Linear(2, 2), batch=0)
    state.model = torch.nn.Linear(2, 2)
    state.save()
    weight = state.model.weight.detach().clone()
    with torch.no_grad():
        state.model.weight.zero_()
    state.restore()
    assert torch.equal(state.model.weight, weight)


def test_reset_callbacks_run_in_order():
    state, seen = ObjectState(), []
    state.register_reset_callbacks([lambda: seen.append(1), lambda: seen.append(2)])
    state.register_reset_callbacks([lambda: seen.append(3)])
    state.on_hosts_updated(1.0, 1)
    state.on_reset()
    assert seen == [1, 2, 3]
    state.check_host_updates()
    state.on_hosts_updated(2.0)
    with pytest.raises(hvd.HostsUpdatedInterrupt):
        state.check_host_updates()


def shares(length, size, **arguments):
    """What each of so many ranks would get, without starting them."""
    samplers = []
    for rank in range(size):
        sampler = ElasticSampler(range(length), **arguments)
        sampler.num_replicas, sampler.rank = size, rank
        sampler.num_samples = -(-len(sampler.remaining_indices) // size)
        sampler.total_size = sampler.num_samples * size
        samplers.append(list(sampler))
    return samplers


@pytest.mark.parametrize("length, size", [(10, 2), (10, 3), (1, 4), (7, 7), (0, 2)])
@pytest.mark.parametrize("shuffle", [False, True])
def test_ranks_get_as_many_rows_and_miss_none(length, size, shuffle):
    parts = shares(length, size, shuffle=shuffle)
    assert {len(part) for part in parts} == {-(-length // size)}
    assert set().union(*parts) == set(range(length))


def test_sampler_goes_on_where_it_was():
    sampler = ElasticSampler(range(10), seed=3)
    first = list(sampler)
    assert sorted(first) == list(range(10)) and list(sampler) == first and len(sampler) == 10
    sampler.record_batch(0, 4)
    assert sampler.processed_num == 4 and list(sampler) == first, "shared anew at reset() only"
    assert sampler.get_indices(1, 4) == first[4:8] and sampler.get_indices(2, 4) == first[8:]
    saved = sampler.state_dict()
    other = ElasticSampler(range(10), seed=3)
    other.load_state_dict(saved)
    assert list(other) == first[4:] and len(other) == 6
    other.record_batch(0, 6)
    other.reset()
    assert list(other) == [] and len(other) == 0
    other.set_epoch(1)
    assert other.processed_num == 0
    assert sorted(other) == list(range(10)) and list(other) != first
    assert list(ElasticSampler(range(4), shuffle=False)) == [0, 1, 2, 3]


def test_state_of_a_sampler_does_not_grow():
    sampler = ElasticSampler(range(1000))
    for number in range(10):
        sampler.record_batch(number, 50)
    assert sampler.state_dict() == {"epoch": 0, "processed_num": 500}


@pytest.mark.parametrize("before, after", [(4, 2), (2, 3), (3, 1), (1, 4)])
@pytest.mark.parametrize("shuffle", [False, True])
def test_rows_are_neither_lost_nor_repeated_when_the_job_changes_its_size(
        monkeypatch, before, after, shuffle):
    """Every rank records its batches; then others go on with what the ranks have not done."""
    def job(size):
        for rank in range(size):
            monkeypatch.setattr(sampler_module, "is_initialized", lambda: True)
            monkeypatch.setattr(sampler_module, "rank", lambda rank=rank: rank)
            monkeypatch.setattr(sampler_module, "size", lambda: size)
            yield rank

    rows, seen, states = range(48), [], []
    for _ in job(before):
        sampler = ElasticSampler(rows, shuffle, seed=5)
        loader = torch.utils.data.DataLoader(rows, batch_size=3, sampler=sampler)
        for number, batch in zip(range(2), loader):
            seen += batch.tolist()
            sampler.record_batch(number, 3)
        states.append(sampler.state_dict())
    assert all(state == {"epoch": 0, "processed_num": 6 * before} for state in states)
    rest = []
    for _ in job(after):
        sampler = ElasticSampler(rows, shuffle, seed=5)
        sampler.load_state_dict(states[0])
        assert sampler.num_replicas == after and len(sampler) == -(-(48 - 6 * before) // after)
        rest += list(sampler)
    assert len(seen) == len(set(seen)) == 6 * before
    assert set(seen) | set(rest) == set(rows) and not set(seen) & set(rest)


def test_sampler_feeds_a_data_loader():
    sampler = ElasticSampler(range(10), shuffle=False)
    loader = torch.utils.data.DataLoader(list(range(10)), batch_size=4, sampler=sampler)
    for number, batch in enumerate(loader):
        assert batch.tolist() == sampler.get_indices(number, 4)
        sampler.record_batch(number, len(batch))
    assert sampler.processed_num == 10
    sampler.reset()
    assert list(sampler) == []
