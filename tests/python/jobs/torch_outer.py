# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Outer steps on any number of ranks, against the same computed for all ranks in one process."""

import copy

import torch
import torch.nn.functional as F

import unisono
import unisono.torch as hvd
from checks import check, raises, run_all
from unisono.torch import outer
from unisono.torch.outer.fragment import OuterParameter

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 9), torch.nn.Tanh(), torch.nn.Linear(9, 2))


def adam(net):
    return torch.optim.AdamW(net.parameters(), lr=0.02)


def made(net, inner=adam, **arguments):
    return outer.OuterOptimizer(inner(net), net.named_parameters(), **arguments)


def local_step(net, optimizer, step, rank=RANK):
    x = torch.randn(8, 5, generator=torch.Generator().manual_seed(1000 * step + rank))
    optimizer.zero_grad()
    F.mse_loss(net(x), x[:, :2].sin() + rank).backward()
    optimizer.step()


def train(net, optimizer, steps, first=0):
    for step in range(first, first + steps):
        local_step(net, optimizer, step)


def flat(net):
    return torch.cat([p.detach().flatten() for p in net.parameters()])


def anchors(optimizer):
    return torch.cat([each.anchor.flatten() for fragment in optimizer._rounds.fragments
                      for each in fragment.parameters])


def same_everywhere(value):
    return all(torch.equal(each, value) for each in hvd.allgather_object(value))


def close(one, other):
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


class Reference:
    """All ranks in one process; what travels is not encoded. fragments: names of each."""

    def __init__(self, rule, steps, fragments=None, delay=0, mix=0.5, inner=adam):
        self.nets = [model() for _ in range(SIZE)]
        self.inner = [inner(net) for net in self.nets]
        names = [name for name, _ in self.nets[0].named_parameters()]
        self.fragments = fragments or [names]
        self.rule, self.steps, self.delay, self.mix = rule, steps, delay, mix
        self.start = {name: p.detach().clone() for name, p in self.nets[0].named_parameters()}
        self.state = {name: {slot: torch.zeros_like(p) for slot in rule.slots}
                      for name, p in self.start.items()}
        self.flights = []
        self.step = 0

    def values(self, name):
        return [dict(net.named_parameters())[name].detach() for net in self.nets]

    def advance(self, movers=range(SIZE)):
        self.step += 1
        for rank in movers:
            local_step(self.nets[rank], self.inner[rank], self.step - 1, rank)
        self.land()
        for number, names in enumerate(self.fragments):
            turn = (number + 1) * self.steps // len(self.fragments)
            if self.step % self.steps == turn % self.steps:
                change = {name: sum(self.start[name] - value for value in self.values(name)) / SIZE
                          for name in names}
                self.flights.append((self.step + self.delay, change))
        self.land()

    def land(self):
        for due, change in [each for each in self.flights if each[0] == self.step]:
            for name, average in change.items():
                self.rule.apply(self.start[name], average, self.state[name], SIZE)
                for value in self.values(name):
                    keep = self.mix if self.delay else 0.0
                    value.copy_(keep * value + (1 - keep) * self.start[name])
        self.flights = [each for each in self.flights if each[0] > self.step]


RULES = (outer.Averaging(), outer.Averaging(lr=0.5), outer.Nesterov(0.7, 0.9),
         outer.BlockMomentum(), outer.BlockMomentum(0.6, 0.8, nesterov=True))


@check
def every_rule_does_as_in_one_process():
    for rule in RULES:
        net, reference = model(), Reference(rule, steps=3)
        optimizer = made(net, steps=3, update=rule)
        for step in range(9):
            local_step(net, optimizer, step)
            reference.advance()
        close(flat(net), flat(reference.nets[RANK]))
        assert same_everywhere(flat(net)), f"{rule} left ranks with other bits"
        local_step(net, optimizer, 9)
        assert not same_everywhere(flat(net)), "a local step is a rank's own"


@check
def fragments_and_delay_do_as_in_one_process():
    cut = [["0.weight"], ["0.bias", "2.bias"], ["2.weight"]]
    for delay, mix in ((0, 0.5), (2, 0.5), (3, 0.0)):
        net = model()
        reference = Reference(outer.Nesterov(), 4, cut, delay, mix)
        optimizer = made(net, steps=4, fragments=cut, delay=delay, mix=mix)
        for step in range(13):
            local_step(net, optimizer, step)
            reference.advance()
            close(flat(net), flat(reference.nets[RANK]))
        assert same_everywhere(anchors(optimizer))
        assert optimizer.synchronize() and same_everywhere(flat(net))


class Spy(outer.Allreduce):
    """Notes what is exchanged, and when."""

    def __init__(self):
        super().__init__()
        self.seen, self.optimizer = [], None

    def start(self, link, name, tensors, contributes):
        self.seen.append((self.optimizer._rounds.step, sorted(tensors)))
        return super().start(link, name, tensors, contributes)


@check
def every_parameter_travels_once_in_a_round():
    for fragments in (1, 2, 3, 4):
        net, spy = model(), Spy()
        optimizer = spy.optimizer = made(net, steps=5, fragments=fragments, exchange=spy)
        train(net, optimizer, 15)
        everything = sorted(name for name, _ in net.named_parameters())
        for last in (5, 10, 15):
            names = [name for step, some in spy.seen if last - 5 < step <= last for name in some]
            assert sorted(names) == everything, (fragments, last, spy.seen)
        assert len({step for step, _ in spy.seen}) == 3 * fragments, "one fragment at a time"


@check
def a_delay_leaves_the_average_for_later():
    net = model()
    optimizer = made(net, steps=4, delay=2, update=outer.Averaging(), mix=0.0)
    train(net, optimizer, 4)
    assert not same_everywhere(flat(net)) and optimizer.stats()["outer_steps"] == 0
    train(net, optimizer, 1, first=4)
    assert not same_everywhere(flat(net))
    train(net, optimizer, 1, first=5)
    assert same_everywhere(flat(net)) and optimizer.stats()["outer_steps"] == 1


@check
def all_of_a_chunk_is_a_plain_average():
    plain, sparse = model(), model()
    first = made(plain, steps=2)
    second = made(sparse, steps=2, exchange=outer.TopK(chunk=8, k=8, bits=None))
    train(plain, first, 6)
    train(sparse, second, 6)
    close(flat(sparse), flat(plain))
    assert all(not kept.any() for kept in second._rounds.exchange.residuals().values())


@check
def what_topk_does_not_send_stays():
    for bits in (None, 2):
        net, exchange = model(), outer.TopK(chunk=16, k=2, bits=bits, decay=1.0)
        optimizer = made(net, steps=2, exchange=exchange, update=outer.Averaging())
        start, changes = anchors(optimizer), torch.zeros(len(flat(net)))
        for step in range(8):
            local_step(net, optimizer.inner, step)
            if step % 2:
                changes += anchors(optimizer) - flat(net)
            optimizer._rounds.advance()
        kept = torch.cat([exchange.residuals()[name].flatten()
                          for name, _ in net.named_parameters()])
        everyones = hvd.allgather(torch.stack([changes, kept])[None], name="sums").mean(0)
        # Everything that all ranks have changed was applied, or is still kept somewhere.
        close(start - anchors(optimizer) + everyones[1], everyones[0])
        assert same_everywhere(flat(net)) and kept.any()


@check
def topk_counts_its_bytes():
    net = model()
    optimizer = made(net, steps=1, exchange=outer.TopK(chunk=16, k=4, bits=2))
    train(net, optimizer, 2)
    # 45 + 9 + 18 + 2 elements: chunks of 16 at 4 positions of 4 bits, 4 codes of 2 bits and two
    # magnitudes; what is left of a parameter sends its share.
    def rest(k, bits):
        return -(-k * bits // 8) + -(-k * 2 // 8) + 8

    rows = 2 * 4 * 4 // 8 + 2 * 4 * 2 // 8 + 2 * 8
    expected = rows + rest(4, 4) + rest(3, 4) + (2 + 1 + 8) + rest(1, 1) + rest(1, 1)
    assert optimizer.stats()["sent_bytes"] == 2 * expected


@check
def topk_trains_with_two_bits():
    net = model()
    optimizer = made(net, steps=4, fragments=2, delay=1, update=outer.Averaging(),
                     exchange=outer.TopK(chunk=16, k=4))
    x = torch.randn(64, 5, generator=torch.Generator().manual_seed(1))
    target = x[:, :2].sin() + (SIZE - 1) / 2
    before = F.mse_loss(net(x), target).item()
    train(net, optimizer, 120)
    assert optimizer.synchronize() and same_everywhere(flat(net))
    assert F.mse_loss(net(x), target).item() < before / 2


class Half:
    """A compressor of the program's own."""

    @staticmethod
    def compress(tensor):
        return tensor.to(torch.float16), tensor.dtype

    @staticmethod
    def decompress(tensor, context):
        return tensor.to(context)


@check
def compression_halves_the_bytes():
    sizes, results = {}, {}
    for compression in (None, "none", "fp16", hvd.Compression.bf16, Half()):
        net = model()
        optimizer = made(net, steps=2, compression=compression, update=outer.Averaging())
        train(net, optimizer, 4)
        assert same_everywhere(flat(net))
        sizes[str(compression)] = optimizer.stats()["sent_bytes"]
        results[str(compression)] = flat(net)
    assert sorted(sizes.values()) == [2 * 74 * 2] * 3 + [2 * 74 * 4] * 2, sizes
    for result in results.values():
        torch.testing.assert_close(result, results["None"], rtol=2e-2, atol=2e-2)


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
    net, reference = model(), model()
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
def narrow_and_mixed_parameters_have_wide_anchors():
    net = model()
    net[0].bfloat16()
    net[2].double()
    inner = torch.optim.SGD(net.parameters(), lr=0.1)
    for exchange in (outer.Allreduce("fp16"), outer.TopK(16, 4), outer.TopK(16, 16, bits=None)):
        optimizer = outer.OuterOptimizer(inner, net.named_parameters(), steps=1, exchange=exchange)
        types = [each.anchor.dtype for each in optimizer._rounds.fragments[0].parameters]
        assert types == [torch.float32] * 2 + [torch.float64] * 2
        for p in net.parameters():
            p.grad = torch.full_like(p, 1.0 + RANK)
        optimizer.step()
        assert all(same_everywhere(p.detach()) for p in net.parameters())


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
def statistics_tell_what_was_saved():
    net = model()
    optimizer = made(net, steps=5, compression="fp16")
    assert optimizer.stats()["elapsed_s"] == 0.0 == optimizer.stats()["exchange_share"]
    train(net, optimizer, 10)
    stats = optimizer.stats()
    assert (stats["local_steps"], stats["outer_steps"], stats["dropped_steps"]) == (10, 2, 0)
    assert stats["every_step_bytes"] == 10 * 74 * 4 and stats["sent_bytes"] == 2 * 74 * 2
    assert 0 < stats["exchange_s"] <= stats["elapsed_s"] and 0 < stats["exchange_share"] <= 1


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
    assert isinstance(optimizer._rounds.fragments[0].parameters[0], OuterParameter)


run_all()
