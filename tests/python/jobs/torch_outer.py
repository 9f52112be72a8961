# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Outer steps on any number of ranks, against the same computed for all ranks in one process."""

import torch
import torch.nn.functional as F

import unisono.torch as hvd
from checks import check, run_all
from torch_outer_support import (RANK, SIZE, adam, anchors, close, flat, local_step, made, model,
                                 same_everywhere, train)
from unisono.torch import outer


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
    net = model()
    optimizer = made(net, steps=1, compression={"*.bias": "none", "*": "bf16"})
    train(net, optimizer, 1)
    assert optimizer.stats()["sent_bytes"] == 11 * 4 + 63 * 2, optimizer.stats()


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
def statistics_tell_what_was_saved():
    net = model()
    optimizer = made(net, steps=5, compression="fp16")
    assert optimizer.stats()["elapsed_s"] == 0.0 == optimizer.stats()["exchange_share"]
    train(net, optimizer, 10)
    stats = optimizer.stats()
    assert (stats["local_steps"], stats["outer_steps"], stats["dropped_steps"]) == (10, 2, 0)
    assert stats["every_step_bytes"] == 10 * 74 * 4 and stats["sent_bytes"] == 2 * 74 * 2
    assert 0 < stats["exchange_s"] <= stats["elapsed_s"] and 0 < stats["exchange_share"] <= 1


run_all()
