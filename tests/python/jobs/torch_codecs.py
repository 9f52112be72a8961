# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs that keep what they do not send, in training on two ranks."""

import io

import torch
import torch.nn.functional as F

import unisono
import unisono.torch as hvd
from checks import check, raises, run_all

CODEC = "ef|topk:64:4|qsgd:8"


def model(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(20, 40), torch.nn.Tanh(), torch.nn.Linear(40, 2))


def distributed(net, **arguments):
    return hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                    net.named_parameters(), **arguments)


def loss(net, step):
    generator = torch.Generator().manual_seed(10 * step + unisono.rank())
    x = torch.randn(16, 20, generator=generator)
    return F.mse_loss(net(x), x[:, :2])


def train(net, optimizer, first, steps):
    last = 0.0
    for step in range(first, first + steps):
        optimizer.zero_grad()
        value = loss(net, step)
        value.backward()
        optimizer.step()
        last = value.item()
    return last


def weights(net):
    return torch.cat([p.detach().flatten() for p in net.parameters()])


def same_everywhere(tensor):
    everywhere = unisono.allgather_object(tensor)
    return all(torch.equal(everywhere[0], each) for each in everywhere)


@check
def training_goes_down_and_replicas_agree():
    for codec in (CODEC, "ef|powersgd:2", "qsgd:8", "ef|topk:global:0.1"):
        net = model()
        optimizer = distributed(net, compression=codec)
        before = loss(net, 999).item()
        train(net, optimizer, 0, 60)
        assert loss(net, 999).item() < 0.8 * before, codec
        assert same_everywhere(weights(net)), codec


@check
def rules_choose_by_the_parameters_name():
    for rules in ({"*.bias": "none", "*": CODEC}, f"*.bias=none,*={CODEC}"):
        for groups in (0, 1):
            net = model()
            optimizer = distributed(net, compression=rules, num_groups=groups)
            optimizer.zero_grad()
            loss(net, 0).backward()
            optimizer.synchronize()
            alone = model()
            loss(alone, 0).backward()
            for own, p in zip(alone.parameters(), net.parameters()):
                mean = hvd.allreduce(own.grad)
                assert torch.allclose(p.grad, mean, atol=1e-6) == (p.dim() == 1), p.shape
            with optimizer.skip_synchronize():
                optimizer.step()


@check
def a_checkpoint_goes_on_with_the_same_bits():
    net = model()
    optimizer = distributed(net, compression=CODEC)
    train(net, optimizer, 0, 5)
    kept = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, kept)
    train(net, optimizer, 5, 5)
    expected = weights(net)
    unisono.barrier()
    kept.seek(0)
    saved = torch.load(kept)
    assert "unisono_codec_state" in saved["optimizer"]
    net.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["optimizer"])
    unisono.barrier()
    train(net, optimizer, 5, 5)
    assert torch.equal(weights(net), expected)
    # A plain optimizer ignores what codecs keep.
    torch.optim.SGD(net.parameters(), lr=0.1).load_state_dict(saved["optimizer"])


@check
def a_state_has_the_parameters_of_its_optimizer_alone():
    first, second = model(), torch.nn.Sequential(torch.nn.Linear(20, 40, bias=False),
                                                 torch.nn.Linear(40, 2, bias=False))
    one, two = (distributed(net, compression=CODEC, num_groups=groups)
                for net, groups in ((first, 0), (second, 1)))
    train(first, one, 0, 3)
    train(second, two, 0, 3)
    saved = one.state_dict()
    own = bytes(saved["unisono_codec_state"].numpy())
    whole = unisono.codec_state()
    assert own.count(b"weight") == 2 and own.count(b"bias") == 2, own.count(b"weight")
    assert 0 < len(own) < len(whole)
    others = two.state_dict()["unisono_codec_state"]
    assert bytes(others.numpy()).count(b"weight") == 2, "of a group, by parameter"
    train(second, two, 3, 2)
    later = two.state_dict()["unisono_codec_state"]
    assert not torch.equal(later, others)
    # While the other's gradients are under way, too.
    loss(second, 9).backward()
    one.load_state_dict(saved)
    two.step()
    assert torch.equal(one.state_dict()["unisono_codec_state"], saved["unisono_codec_state"])
    unisono.barrier()


@check
def a_state_is_not_loaded_once_gradients_are_under_way():
    net = model()
    optimizer = distributed(net, compression=CODEC)
    train(net, optimizer, 0, 1)
    saved = optimizer.state_dict()
    unisono.barrier()
    if unisono.rank() == 0:  # the other rank has nothing yet, so nothing moves
        loss(net, 1).backward()
        raises(ValueError, lambda: optimizer.load_state_dict(saved), "on its way")
        unisono.barrier()
    else:
        unisono.barrier()
        loss(net, 1).backward()
    for p in net.parameters():
        p.grad = None
    unisono.barrier()
    unisono.allreduce(torch.zeros(1), name="after all that was begun")


@check
def what_ranks_have_alike_is_the_roots_after_a_broadcast():
    for codec in ("ef|warmup:50|topk:64:1", "ef|powersgd:2"):
        net = model()
        optimizer = distributed(net, compression=codec)
        train(net, optimizer, 0, 6)
        exchange, own = optimizer._exchange, optimizer.state_dict()["unisono_codec_state"]
        unisono.barrier()
        if unisono.rank() == 1:  # as one that has joined later
            exchange.share_codecs(unisono.codec_state(names=[]))
        alike = unisono.allgather_object(exchange.shared_codecs())
        assert alike[0] != alike[1], codec
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        alike = unisono.allgather_object(exchange.shared_codecs())
        assert alike[0] == alike[1], codec
        assert torch.equal(optimizer.state_dict()["unisono_codec_state"], own), codec
        train(net, optimizer, 6, 3)
        assert same_everywhere(weights(net)), codec


@check
def without_a_codec_a_state_is_as_it_was():
    net = model()
    optimizer = distributed(net)
    train(net, optimizer, 0, 1)
    assert set(optimizer.state_dict()) == {"state", "param_groups"}
    optimizer.load_state_dict(optimizer.state_dict())


@check
def bad_codecs_are_refused_when_the_optimizer_is_made():
    for bad, text in (("topk:512:4|ef", "character 12"), ({"*": "zap"}, "no stage 'zap'"),
                      ("*.bias=qsgd:3", "qsgd:2, qsgd:4")):
        raises(ValueError, lambda bad=bad: distributed(model(), compression=bad), text)


@check
def a_single_call_takes_one_too():
    mine = torch.tensor([4.0, 3.0, 0, 0, 0, 0, 0, 0])
    first = hvd.allreduce(mine, name="one", compression="ef|topk:8:1")
    assert first.tolist() == [4.0] + [0.0] * 7
    assert hvd.allreduce(torch.zeros(8), name="one", compression="ef|topk:8:1")[1] == 3.0
    raises(ValueError, lambda: hvd.reducescatter(mine, name="rs", compression="ef|topk:8:1"),
           "for allreduce alone")


if __name__ == "__main__":
    hvd.init()
    run_all()
