# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters, optimizer state and objects from one rank to the others."""

import inspect
import threading
import warnings

import torch
from checks import check, raises, run_all

import unisono.torch as hvd

hvd.init()
ME = hvd.rank()


def model():
    torch.manual_seed(ME)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3),
                               torch.nn.Linear(3, 2, dtype=torch.float32))


def equal_everywhere(tree):
    """Whether ranks agree on every number, by an exact comparison of what rank 0 has."""
    mine = [each.detach().clone() if isinstance(each, torch.Tensor) else each
            for each in torch.utils._pytree.tree_flatten(tree)[0]]
    theirs = hvd.broadcast_object(mine, 0, name="compare")
    return len(mine) == len(theirs) and all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(mine, theirs))


@check
def parameters_in_every_shape_of_argument():
    for arguments in (lambda m: m.state_dict(), lambda m: m.named_parameters(),
                      lambda m: list(m.named_parameters()), lambda m: m.parameters(),
                      lambda m: dict(m.named_parameters()), lambda m: iter(m.state_dict().items())):
        net = model()
        assert not equal_everywhere(list(net.parameters())) or ME == 0
        hvd.broadcast_parameters(arguments(net), root_rank=0)
        assert equal_everywhere(list(net.parameters()))
        assert all(parameter.requires_grad for parameter in net.parameters())
    net = model()
    mine = net[0].weight.detach().clone()
    hvd.broadcast_parameters(net.state_dict(), root_rank=1)
    assert torch.equal(net[0].weight, mine) == (ME == 1)


@check
def parameters_of_every_kind():
    tensors = {"half": torch.full((2,), ME, dtype=torch.float16),
               "brain": torch.full((2,), ME, dtype=torch.bfloat16),
               "count": torch.tensor(ME), "flag": torch.tensor([ME == 0]),
               "strided": torch.full((4, 4), float(ME))[:, ::2], "empty": torch.ones(0, 3)}
    hvd.broadcast_parameters(tensors)
    assert tensors["half"].tolist() == [0, 0] and tensors["brain"].tolist() == [0, 0]
    assert tensors["count"] == 0 and tensors["flag"].item() and (tensors["strided"] == 0).all()
    hvd.broadcast_parameters({})
    hvd.broadcast_parameters([])


@check
def what_is_no_tensor_is_refused_before_anything_is_sent():
    x = torch.full((2,), float(ME))
    raises(ValueError, lambda: hvd.broadcast_parameters({"x": x, "lr": 0.1}), '"lr"', "float",
           "broadcast_object")
    raises(ValueError, lambda: hvd.broadcast_parameters({"x": None}), "NoneType")
    raises(ValueError, lambda: hvd.broadcast_parameters(x), "state_dict")
    raises(ValueError, lambda: hvd.broadcast_parameters(3), "int")
    raises(ValueError, lambda: hvd.broadcast_parameters([("x", x), ("x", x)]), "two parameters")
    raises(ValueError, lambda: hvd.broadcast_parameters({"x": x}, root_rank=9))
    assert (x == ME).all()


ARGUMENTS = {"SGD": {"lr": 0.1, "momentum": 0.9}, "SparseAdam": None, "LBFGS": None,
             "Muon": None, "Optimizer": None}


def optimizers():
    for name, kind in vars(torch.optim).items():
        if inspect.isclass(kind) and issubclass(kind, torch.optim.Optimizer):
            arguments = ARGUMENTS.get(name, {"lr": 0.01})
            if arguments is not None:
                yield name, kind, arguments


def stepped(net, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.ones(5, 4) + torch.randn(5, 4)).sum().backward()
        optimizer.step()


@check
def state_of_every_optimizer():
    seen = []
    for name, kind, arguments in optimizers():
        net = model()
        optimizer = kind(net.parameters(), **arguments)
        if ME == 0:
            stepped(net, optimizer, 3)
            optimizer.param_groups[0]["lr"] = 0.125
        optimizer.zero_grad(set_to_none=True)
        before = [parameter.detach().clone() for parameter in net.parameters()]
        fresh = not optimizer.state_dict()["state"]
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        assert all(torch.equal(a, b) for a, b in zip(before, net.parameters())), name
        # Where there was no state Horovod would have made it by a step on zeros.
        for parameter in net.parameters():
            assert parameter.grad.eq(0).all() if fresh else parameter.grad is None, name
        assert fresh == (ME == 1 and name != "Adagrad"), name
        assert optimizer.param_groups[0]["lr"] == 0.125, name
        assert equal_everywhere(optimizer.state_dict()), name
        hvd.broadcast_parameters(net.state_dict())
        torch.manual_seed(7)
        stepped(net, optimizer, 2)
        assert equal_everywhere([optimizer.state_dict(), list(net.parameters())]), name
        seen.append(name)
    assert {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam",
            "Rprop", "ASGD"} <= set(seen)


@check
def hyperparameters_and_fresh_state():
    net = model()
    optimizer = torch.optim.Adam([{"params": net[0].parameters(), "lr": 0.5 / (ME + 1)},
                                  {"params": net[2].parameters(), "betas": (0.1 * (ME + 1), 0.9)}],
                                 lr=torch.tensor(0.25 * (ME + 1)), foreach=False)
    if ME == 1:
        stepped(net, optimizer, 1)
    net[0].bias.requires_grad_(False)
    grads = [p.grad for p in net.parameters()]
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert optimizer.param_groups[1]["betas"] == (0.1, 0.9)
    assert optimizer.param_groups[1]["lr"] == 0.25
    assert not optimizer.state_dict()["state"], "rank 0 has none"
    for p, gradient in zip(net.parameters(), grads):
        if ME == 1 or p is net[0].bias or p is net[1].weight or p is net[1].bias:
            assert p.grad is gradient, "there was state, or it is not this optimizer's to train"
        else:
            assert p.grad.eq(0).all() and not p.grad.requires_grad
    stepped(net, optimizer, 1)


@check
def gradients_of_a_new_sparse_optimizer():
    net = torch.nn.Embedding(5, 3, sparse=True)
    optimizer = torch.optim.SparseAdam(list(net.parameters()), lr=0.1)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    assert net.weight.grad.is_sparse and net.weight.grad.to_dense().eq(0).all()
    net(torch.tensor([1, 1])).sum().backward()
    assert net.weight.grad.to_dense()[:, 0].tolist() == [0, 2, 0, 0, 0]
    optimizer.step()


@check
def optimizers_that_cannot_be_broadcast():
    net = model()
    shapeless = torch.optim.LBFGS(net.parameters())
    raises(ValueError, lambda: hvd.broadcast_optimizer_state(shapeless, 0), "LBFGS")
    other = torch.optim.SGD(list(net.parameters())[:2 + ME], lr=0.1)
    raises(ValueError, lambda: hvd.broadcast_optimizer_state(other, 0), "same model")


@check
def state_of_a_wrapped_optimizer():
    net = model()
    inner = torch.optim.SGD(net.parameters(), lr=0.1 + ME, momentum=0.9)
    optimizer = hvd.DistributedOptimizer(inner, named_parameters=net.named_parameters())
    hvd.broadcast_parameters(net.state_dict())
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    stepped(net, optimizer, 2)
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert equal_everywhere([list(net.parameters()), optimizer.state_dict()])


@check
def objects():
    value = {"epoch": 3, "tensor": torch.ones(2), "text": "ü" * 1000}
    got = hvd.broadcast_object(value if ME == 1 else None, root_rank=1)
    assert got["epoch"] == 3 and got["tensor"].tolist() == [1, 1] and len(got["text"]) == 1000
    assert hvd.broadcast_object_fn(root_rank=0, name="fn")(ME) == 0
    assert hvd.broadcast_object([], 0, "empty") == []
    assert hvd.allgather_object({"rank": ME}) == [{"rank": 0}, {"rank": 1}]
    assert hvd.allgather_object("x" * ME, name="uneven") == ["", "x"]
    assert hvd.allgather_object(None) == [None, None]


@check
def objects_that_cannot_be_pickled_fail_everywhere():
    lock = threading.Lock()
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    if ME == 0:
        optimizer.param_groups[0]["note"] = lock
    state = hvd.elastic.TorchState(epoch=0)
    if ME == 0:
        state.epoch = lock
    for call in (lambda: hvd.broadcast_object(lock), lambda: hvd.broadcast_object_fn()(lock),
                 lambda: hvd.allgather_object(None if ME else lock), state.sync,
                 lambda: hvd.broadcast_optimizer_state(optimizer, 0),
                 lambda: hvd.elastic.run(lambda state: None)(state)):
        error = raises(hvd.PickleFailed, call, "rank 0 cannot pickle", "TypeError", "lock")
        assert error.rank == 0
    assert hvd.allgather_object(ME) == [0, 1]


@check
def objects_do_not_count_among_unnamed_operations():
    handle = hvd.allreduce_async(torch.ones(1))
    number = int(repr(handle).split("noname.")[1].split()[0])
    hvd.allgather_object(1)
    hvd.broadcast_object(1)
    hvd.broadcast_parameters({"x": torch.ones(1)})
    after = hvd.allreduce_async(torch.ones(1))
    assert int(repr(after).split("noname.")[1].split()[0]) == number + 1
    hvd.synchronize(handle), hvd.synchronize(after)


@check
def forked_workers_of_a_data_loader_are_unharmed():
    rows = torch.utils.data.TensorDataset(torch.arange(12.0))
    loader = torch.utils.data.DataLoader(rows, batch_size=3, num_workers=2,
                                         multiprocessing_context="fork")
    for _ in range(2):
        total = sum(batch.sum() for batch, in loader)
        assert hvd.allreduce(total, name="total", op=hvd.Sum) == 132
    assert hvd.allgather_object(ME) == [0, 1]


@check
def a_compiled_function_may_call_collectives():
    def double_sum(x):
        return hvd.allreduce(x * 2, name="compiled", op=hvd.Sum) + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the graph breaks at the call, and torch says so
        compiled = torch.compile(double_sum, backend="eager")
        x = torch.full((3,), float(ME), requires_grad=True)
        result = compiled(x)
        result.sum().backward()
    assert result.tolist() == [3, 3, 3] and x.grad.tolist() == [4, 4, 4]


run_all()
