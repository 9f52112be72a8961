# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The same comparison for models of other kinds: sparse, compressed, compiled, of mixed types."""

import torch
import torch.nn.functional as F

import unisono
from checks import check, run_all
from training import STEPS, batch, compare, flat, model, same_on_all_ranks, sgd, simple
from unisono.torch.compression import Compression
from unisono.torch.optimizer import DistributedOptimizer


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embedding = torch.nn.Embedding(20, 4, sparse=True)
        self.out = torch.nn.Linear(4, 1)

    def forward(self, words):
        return self.out(self.embedding(words).mean(1))


def words_loop(net, optimizer, whole):
    for step in range(STEPS):
        words = torch.randint(0, 20, (8, 5), generator=torch.Generator().manual_seed(step))
        words = words if whole else words[unisono.rank()::unisono.size()]
        optimizer.zero_grad()
        net(words).square().mean().backward()
        optimizer.step()


@check
def sparse_gradients():
    plain = lambda p: torch.optim.SGD(p, lr=0.5)  # noqa: E731
    for arguments in ({}, {"num_groups": 1}, {"sparse_as_dense": True},
                      {"sparse_as_dense": True, "num_groups": 1},
                      {"gradient_predivide_factor": 2.0}):
        compare(words_loop, plain, Words, **arguments)


@check
def sparse_optimizer():
    def embedding_only(net):
        return torch.optim.SparseAdam([net.embedding.weight], lr=0.1)

    alone = Words()
    words_loop(alone, embedding_only(alone), True)
    for arguments in ({}, {"sparse_as_dense": True},
                      {"sparse_as_dense": True, "gradients_in_arena": False}):
        together = Words()
        words_loop(together, DistributedOptimizer(embedding_only(together),
                                                  together.named_parameters(), **arguments), False)
        same_on_all_ranks(together)
        # Rows that no rank has looked up are not in a sum that travelled dense.
        assert torch.allclose(flat(alone), flat(together), atol=1e-6), arguments


@check
def sparse_gradients_are_sparse_again_when_they_travelled_dense():
    for arguments in ({}, {"gradients_in_arena": False}, {"num_groups": 1}, {"lag": 1},
                      {"compression": Compression.fp16}):
        net = Words()
        optimizer = DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters(), sparse_as_dense=True, **arguments)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.tensor([[unisono.rank(), 7]])).sum().backward()
            optimizer.synchronize()
            with optimizer.skip_synchronize():
                optimizer.step()
        gradient = net.embedding.weight.grad
        assert gradient.is_sparse and gradient.sparse_dim() == 1, arguments
        rows = gradient.coalesce().indices().flatten().tolist()
        assert rows == [*range(unisono.size()), 7], (arguments, rows)
        assert not net.out.weight.grad.is_sparse


@check
def sparse_gradients_of_fewer_passes_than_asked_for():
    for arguments in ({}, {"sparse_as_dense": True}):
        for arena in (None, False):
            net = Words()
            optimizer = DistributedOptimizer(
                torch.optim.SGD(net.parameters(), lr=0.1), net.named_parameters(),
                backward_passes_per_step=2, gradients_in_arena=arena, **arguments)
            net(torch.tensor([[3, 7]])).sum().backward()
            optimizer.step()
            gradient = net.embedding.weight.grad
            assert gradient.is_sparse and set(gradient.coalesce().indices()[0].tolist()) == {3, 7}
            same_on_all_ranks(net)


@check
def predivide_and_groups():
    compare(gradient_predivide_factor=4.0)
    compare(gradient_predivide_factor=4.0, num_groups=2)
    compare(num_groups=3, group_balance="bytes")
    compare(groups=2)
    for arena in (None, False):
        alone, together = model(), model()
        simple(alone, sgd(alone.parameters()), True)
        some = [list(together[0].parameters()), [together[4].bias, together[2].weight]]
        simple(together, DistributedOptimizer(sgd(together.parameters()), groups=some,
                                              gradients_in_arena=arena), False)
        assert torch.allclose(flat(alone), flat(together), atol=1e-6)


class Halved:
    """A compressor of the user's own."""

    @staticmethod
    def compress(tensor):
        return tensor.double() / 2, tensor.dtype

    @staticmethod
    def decompress(tensor, context):
        return (tensor * 2).to(context)


@check
def compression():
    compare(compression=Halved)
    compare(compression=Halved, num_groups=2)
    assert not compare(compression=Compression.fp16, atol=2e-3).gradients_in_arena
    compare(compression=Compression.bf16, atol=2e-2)
    compare(compression=Compression.bf16, atol=2e-2, num_groups=2)


@check
def adasum_of_equal_gradients_is_one_of_them():
    alone, together = model(), model()
    simple(alone, sgd(alone.parameters()), True)
    optimizer = DistributedOptimizer(sgd(together.parameters()), together.named_parameters(),
                                     op=unisono.ReduceOp.Adasum)
    simple(together, optimizer, True)
    assert not optimizer.gradients_in_arena and "Adasum" in str(optimizer.gradients_in_arena)
    assert torch.allclose(flat(alone), flat(together), atol=1e-5)


@check
def compiled_models():
    def loop(net, optimizer, whole):
        simple(torch.compile(net, backend="aot_eager"), optimizer, whole)

    compare(loop)


@check
def mixed_element_types_and_strides():
    def net():
        made = model().double()
        made[2].to(torch.float32)
        made[4].to(torch.bfloat16)
        with torch.no_grad():
            made[0].weight = torch.nn.Parameter(made[0].weight.t().contiguous().t())
        return made

    def loop(net, optimizer, whole):
        for step in range(STEPS):
            x, y = batch(step, whole)
            optimizer.zero_grad()
            hidden = torch.tanh(net[2](torch.tanh(net[0](x.double())).float()))
            F.mse_loss(net[4](hidden.bfloat16()), y.bfloat16()).backward()
            optimizer.step()

    # bf16 rounds the batch's parts and the whole differently, so only ranks are compared closely.
    compare(loop, net=net, atol=0.1)
    compare(loop, net=net, atol=0.1, num_groups=1)


@check
def convolutions_channels_last():
    def net():
        torch.manual_seed(5)
        return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                   torch.nn.Linear(64, 2)).to(memory_format=torch.channels_last)

    def loop(net, optimizer, whole):
        for step in range(STEPS):
            x = torch.randn(4, 3, 6, 6, generator=torch.Generator().manual_seed(step))
            x = x if whole else x[unisono.rank()::unisono.size()]
            optimizer.zero_grad()
            net(x.to(memory_format=torch.channels_last)).square().mean().backward()
            optimizer.step()

    compare(loop, net=net)


@check
def tied_weights():
    def net():
        made = model()
        made[2] = torch.nn.Linear(16, 16)
        made[4] = torch.nn.Linear(16, 2)
        made.insert(4, torch.nn.Linear(16, 16))
        made[4].weight = made[2].weight
        return made

    compare(net=net)


if __name__ == "__main__":
    unisono.init()
    run_all()
